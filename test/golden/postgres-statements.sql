alter table credentials rename to storefront_replaced_<run>_credentials;

alter table idempotency rename to storefront_replaced_<run>_idempotency;

alter table journal rename to storefront_replaced_<run>_journal;

alter table key_uses rename to storefront_replaced_<run>_key_uses;

alter table records rename to storefront_replaced_<run>_records;

alter table sites rename to storefront_replaced_<run>_sites;

alter table storefront_unused_<run>_credentials rename to credentials;

alter table storefront_unused_<run>_idempotency rename to idempotency;

alter table storefront_unused_<run>_journal rename to journal;

alter table storefront_unused_<run>_key_uses rename to key_uses;

alter table storefront_unused_<run>_records rename to records;

alter table storefront_unused_<run>_sites rename to sites;

alter table storefront_unused_<run>_webhook_attempts rename to webhook_attempts;

alter table storefront_unused_<run>_webhook_secrets rename to webhook_secrets;

alter table storefront_unused_<run>_webhook_state rename to webhook_state;

alter table webhook_attempts rename to storefront_replaced_<run>_webhook_attempts;

alter table webhook_secrets rename to storefront_replaced_<run>_webhook_secrets;

alter table webhook_state add column gone_at bigint;

alter table webhook_state add column resumes bigint;

alter table webhook_state add column since text;

alter table webhook_state rename to storefront_replaced_<run>_webhook_state;

analyze storefront_unused_<run>_sites, storefront_unused_<run>_records, storefront_unused_<run>_journal, storefront_unused_<run>_idempotency, storefront_unused_<run>_key_uses, storefront_unused_<run>_webhook_state, storefront_unused_<run>_webhook_secrets, storefront_unused_<run>_webhook_attempts, storefront_unused_<run>_credentials;

begin;

begin isolation level repeatable read read only;

close pages;

commit;

create index idempotency_at on idempotency (site_id, at);

create or replace view "brand" as select site_id, id, revision, coalesce(body::json #>> '{Name}', '') as "name", coalesce(body::json #>> '{AccountNumber}', '') as "account_number", coalesce(body::json #>> '{Telephone,Daytime}', '') as "telephone_daytime", coalesce(body::json #>> '{Telephone,Evening}', '') as "telephone_evening", coalesce(body::json #>> '{Telephone,Mobile}', '') as "telephone_mobile", coalesce(body::json #>> '{Address,Title}', '') as "address_title", coalesce(body::json #>> '{Address,Firstname}', '') as "address_firstname", coalesce(body::json #>> '{Address,Surname}', '') as "address_surname", coalesce(body::json #>> '{Address,AddressLine1}', '') as "address_address_line1", coalesce(body::json #>> '{Address,AddressLine2}', '') as "address_address_line2", coalesce(body::json #>> '{Address,Town}', '') as "address_town", coalesce(body::json #>> '{Address,County}', '') as "address_county", coalesce(body::json #>> '{Address,Postcode}', '') as "address_postcode", coalesce(body::json #>> '{Address,Country}', '') as "address_country" from records where resource = 'brand' and body is not null;

create or replace view "key" as select site_id, id, revision, coalesce(body::json #>> '{Site}', '') as "site", coalesce(body::json #>> '{Prefix}', '') as "prefix", coalesce(body::json #>> '{Digest}', '') as "digest", coalesce(body::json #>> '{Label}', '') as "label", coalesce(body::json #>> '{Scope}', '') as "scope", coalesce(body::json #>> '{Rate}', '') as "rate", coalesce(body::json #>> '{Created}', '') as "created", coalesce(body::json #>> '{Expires}', '') as "expires", coalesce(body::json #>> '{Revoked}', '') as "revoked" from records where resource = 'key' and body is not null;

create or replace view "location" as select site_id, id, revision, coalesce(body::json #>> '{Code}', '') as "code", coalesce(body::json #>> '{Name}', '') as "name", coalesce(body::json #>> '{Manager}', '') as "manager", coalesce(body::json #>> '{Email}', '') as "email", coalesce(body::json #>> '{Telephone,Daytime}', '') as "telephone_daytime", coalesce(body::json #>> '{Telephone,Evening}', '') as "telephone_evening", coalesce(body::json #>> '{Telephone,Mobile}', '') as "telephone_mobile", coalesce(body::json #>> '{Address,Title}', '') as "address_title", coalesce(body::json #>> '{Address,Firstname}', '') as "address_firstname", coalesce(body::json #>> '{Address,Surname}', '') as "address_surname", coalesce(body::json #>> '{Address,AddressLine1}', '') as "address_address_line1", coalesce(body::json #>> '{Address,AddressLine2}', '') as "address_address_line2", coalesce(body::json #>> '{Address,Town}', '') as "address_town", coalesce(body::json #>> '{Address,County}', '') as "address_county", coalesce(body::json #>> '{Address,Postcode}', '') as "address_postcode", coalesce(body::json #>> '{Address,Country}', '') as "address_country" from records where resource = 'location' and body is not null;

create or replace view "operator" as select site_id, id, revision, coalesce(body::json #>> '{Name}', '') as "name", coalesce(body::json #>> '{Sites}', '') as "sites", coalesce(body::json #>> '{Created}', '') as "created" from records where resource = 'operator' and body is not null;

create or replace view "order_status" as select site_id, id, revision, coalesce(body::json #>> '{Name}', '') as "name" from records where resource = 'order-status' and body is not null;

create or replace view "site" as select site_id, id, revision, coalesce(body::json #>> '{Name}', '') as "name", coalesce(body::json #>> '{Hostnames}', '') as "hostnames", coalesce(body::json #>> '{Default}', '') as "default", coalesce(body::json #>> '{Suspended}', '') as "suspended", coalesce(body::json #>> '{Importing}', '') as "importing" from records where resource = 'site' and body is not null;

create or replace view "webhook" as select site_id, id, revision, coalesce(body::json #>> '{Site}', '') as "site", coalesce(body::json #>> '{URL}', '') as "url", coalesce(body::json #>> '{Resources}', '') as "resources", coalesce(body::json #>> '{Created}', '') as "created", coalesce(body::json #>> '{Paused}', '') as "paused", coalesce(body::json #>> '{Reason}', '') as "reason" from records where resource = 'webhook' and body is not null;

create or replace view brand as <definition>;

create or replace view key as <definition>;

create or replace view location as <definition>;

create or replace view operator as <definition>;

create or replace view order_status as <definition>;

create or replace view site as <definition>;

create or replace view webhook as <definition>;

create table credentials ( digest text not null primary key, kind text not null, operator_id bigint not null, expires_at bigint not null );

create table idempotency ( site_id bigint not null, key_id bigint not null, name text not null, digest text not null, at bigint not null, operation text not null, id bigint not null, revision bigint not null, body text not null, primary key (site_id, key_id, name) );

create table if not exists storefront_schema (id bigint primary key, version bigint not null, views text not null);

create table journal ( site_id bigint not null, revision bigint not null, at bigint not null, actor text not null, resource text not null, id bigint not null, operation text not null, body text not null, run text, before text, primary key (site_id, revision) );

create table key_uses ( key_id bigint primary key, at bigint not null );

create table records ( site_id bigint not null, resource text not null, id bigint not null, revision bigint not null, body text, primary key (site_id, resource, id) );

create table sites ( id bigint primary key, epoch text not null, revision bigint not null, counters text not null, floor bigint, last_at bigint, live text, live_revision bigint );

create table storefront_unused_<run>_credentials (like credentials including all);

create table storefront_unused_<run>_idempotency (like idempotency including all);

create table storefront_unused_<run>_journal (like journal including all);

create table storefront_unused_<run>_key_uses (like key_uses including all);

create table storefront_unused_<run>_records (like records including all);

create table storefront_unused_<run>_sites (like sites including all);

create table storefront_unused_<run>_webhook_attempts (like webhook_attempts including all);

create table storefront_unused_<run>_webhook_secrets (like webhook_secrets including all);

create table storefront_unused_<run>_webhook_state (like webhook_state including all);

create table this_database ( id bigint primary key, name text not null );

create table webhook_attempts ( site_id bigint not null, webhook_id bigint not null, number bigint not null, at bigint not null, status bigint, milliseconds bigint not null, fault text, primary key (site_id, webhook_id, number) );

create table webhook_secrets ( site_id bigint not null, webhook_id bigint not null, created_at bigint not null, secret text not null, until bigint, primary key (site_id, webhook_id, created_at) );

create table webhook_state ( site_id bigint not null, webhook_id bigint not null, home text not null, cursor text not null, epoch text not null, first_revision bigint not null, last_revision bigint not null, rewinds bigint not null, failures bigint not null, failing_since bigint, next_at bigint not null, is_gone bigint not null, holder text, lease_until bigint not null, primary key (site_id, webhook_id) );

declare pages no scroll cursor for select id, epoch, revision, counters, floor, last_at, live, live_revision from sites order by id;

declare pages no scroll cursor for select id, epoch, revision, counters, floor, last_at, live, live_revision from sites where id = <number> order by id;

declare pages no scroll cursor for select key_id, at from key_uses order by key_id;

declare pages no scroll cursor for select resource, id, revision, body from records where site_id = <number> order by resource, id;

declare pages no scroll cursor for select site_id, key_id, name, digest, at, operation, id, revision, body from idempotency order by site_id, key_id, name;

declare pages no scroll cursor for select site_id, key_id, name, digest, at, operation, id, revision, body from idempotency where site_id = <number> order by site_id, key_id, name;

declare pages no scroll cursor for select site_id, resource, id, revision, body from records order by site_id, resource, id;

declare pages no scroll cursor for select site_id, resource, id, revision, body from records where site_id = <number> order by site_id, resource, id;

declare pages no scroll cursor for select site_id, revision, at, actor, resource, id, operation, body, run, before from journal order by site_id, revision;

declare pages no scroll cursor for select site_id, revision, at, actor, resource, id, operation, body, run, before from journal where site_id = <number> order by site_id, revision;

declare pages no scroll cursor for select site_id, webhook_id, created_at, secret, until from webhook_secrets order by site_id, webhook_id, created_at;

declare pages no scroll cursor for select site_id, webhook_id, created_at, secret, until from webhook_secrets where site_id = <number> order by site_id, webhook_id, created_at;

declare pages no scroll cursor for select site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at from webhook_state order by site_id, webhook_id;

declare pages no scroll cursor for select site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at from webhook_state where site_id = <number> order by site_id, webhook_id;

delete from idempotency where (site_id, key_id, name, at) in (select site_id, key_id, name, at from idempotency where site_id = <number> and at <= <number> order by at limit <number>) returning <number>;

delete from idempotency where (site_id, key_id, name, at) in (select site_id, key_id, name, at from idempotency where site_id = <number> limit <number>) returning <number>;

delete from journal where (site_id, revision) in (select site_id, revision from journal where site_id = <number> limit <number>) returning <number>;

delete from journal where site_id = <number>;

delete from records where (site_id, resource, id) in (select site_id, resource, id from records where site_id = <number> limit <number>) returning <number>;

delete from webhook_attempts where (site_id, webhook_id, number) in (select site_id, webhook_id, number from webhook_attempts where site_id = <number> limit <number>) returning <number>;

delete from webhook_attempts where site_id = <number> and webhook_id = <number> and number <= <number>;

delete from webhook_secrets where (site_id, webhook_id, created_at) in (select site_id, webhook_id, created_at from webhook_secrets where site_id = <number> limit <number>) returning <number>;

delete from webhook_secrets where site_id = <number> and webhook_id = <number>;

delete from webhook_state where (site_id, webhook_id) in (select site_id, webhook_id from webhook_state where site_id = <number> limit <number>) returning <number>;

delete from webhook_state where site_id = <number> and webhook_id = <number>;

drop table if exists storefront_replaced_<run>_sites, storefront_replaced_<run>_records, storefront_replaced_<run>_journal, storefront_replaced_<run>_idempotency, storefront_replaced_<run>_key_uses, storefront_replaced_<run>_webhook_state, storefront_replaced_<run>_webhook_secrets, storefront_replaced_<run>_webhook_attempts, storefront_replaced_<run>_credentials;

drop view if exists "brand";

drop view if exists "key";

drop view if exists "location";

drop view if exists "operator";

drop view if exists "order_status";

drop view if exists "site";

drop view if exists "webhook";

fetch <number> from pages;

insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) select site_id, key_id, name, digest, at, operation, id, revision, body from json_to_recordset($1::json) as given (site_id bigint, key_id bigint, name text, digest text, at bigint, operation text, id bigint, revision bigint, body text);

insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) select site_id, key_id, name, digest, at, operation, id, revision, body from json_to_recordset($1::json) as given (site_id bigint, key_id bigint, name text, digest text, at bigint, operation text, id bigint, revision bigint, body text) on conflict (site_id, key_id, name) do update set digest = excluded.digest, at = excluded.at, operation = excluded.operation, id = excluded.id, revision = excluded.revision, body = excluded.body;

insert into journal (site_id, revision, at, actor, resource, id, operation, body, run, before) select site_id, revision, at, actor, resource, id, operation, body, run, before from json_to_recordset($1::json) as given (site_id bigint, revision bigint, at bigint, actor text, resource text, id bigint, operation text, body text, run text, before text);

insert into journal (site_id, revision, at, actor, resource, id, operation, body, run, before) values (<number>, floor(random() * 9e15)::bigint, <number>, '', '', <number>, '', repeat('x', <number>), '', '');

insert into key_uses (key_id, at) select key_id, at from json_to_recordset($1::json) as given (key_id bigint, at bigint) order by key_id on conflict (key_id) do update set at = greatest(key_uses.at, excluded.at);

insert into records (site_id, resource, id, revision, body) select site_id, resource, id, revision, body from json_to_recordset($1::json) as given (site_id bigint, resource text, id bigint, revision bigint, body text);

insert into records (site_id, resource, id, revision, body) select site_id, resource, id, revision, body from json_to_recordset($1::json) as given (site_id bigint, resource text, id bigint, revision bigint, body text) on conflict (site_id, resource, id) do update set revision = excluded.revision, body = excluded.body;

insert into sites (id, epoch, revision, counters, floor, last_at, live, live_revision) select id, epoch, revision, counters, floor, last_at, live, live_revision from json_to_recordset($1::json) as given (id bigint, epoch text, revision bigint, counters text, floor bigint, last_at bigint, live text, live_revision bigint) on conflict (id) do update set epoch = excluded.epoch, revision = excluded.revision, counters = excluded.counters, floor = excluded.floor, last_at = excluded.last_at, live = excluded.live, live_revision = excluded.live_revision;

insert into sites (id, epoch, revision, counters, floor, last_at, live, live_revision) select id, epoch, revision, counters, floor, last_at, live, live_revision from json_to_recordset($1::json) as given (id bigint, epoch text, revision bigint, counters text, floor bigint, last_at bigint, live text, live_revision bigint) order by id on conflict (id) do nothing;

insert into storefront_schema values (<number>, '') on conflict (id) do nothing;

insert into storefront_unused_<run>_idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) select site_id, key_id, name, digest, at, operation, id, revision, body from json_to_recordset($1::json) as given (site_id bigint, key_id bigint, name text, digest text, at bigint, operation text, id bigint, revision bigint, body text);

insert into storefront_unused_<run>_journal (site_id, revision, at, actor, resource, id, operation, body, run, before) select site_id, revision, at, actor, resource, id, operation, body, run, before from json_to_recordset($1::json) as given (site_id bigint, revision bigint, at bigint, actor text, resource text, id bigint, operation text, body text, run text, before text);

insert into storefront_unused_<run>_key_uses (key_id, at) select key_id, at from json_to_recordset($1::json) as given (key_id bigint, at bigint);

insert into storefront_unused_<run>_records (site_id, resource, id, revision, body) select site_id, resource, id, revision, body from json_to_recordset($1::json) as given (site_id bigint, resource text, id bigint, revision bigint, body text);

insert into storefront_unused_<run>_sites (id, epoch, revision, counters, floor, last_at, live, live_revision) select id, epoch, revision, counters, floor, last_at, live, live_revision from json_to_recordset($1::json) as given (id bigint, epoch text, revision bigint, counters text, floor bigint, last_at bigint, live text, live_revision bigint);

insert into this_database (id, name) values (<number>, md5(random()::text || random()::text || clock_timestamp()::text));

insert into webhook_attempts (site_id, webhook_id, number, at, status, milliseconds, fault) select site_id, webhook_id, number, at, status, milliseconds, fault from json_to_recordset($1::json) as given (site_id bigint, webhook_id bigint, number bigint, at bigint, status bigint, milliseconds bigint, fault text);

insert into webhook_secrets (site_id, webhook_id, created_at, secret, until) select site_id, webhook_id, created_at, secret, until from json_to_recordset($1::json) as given (site_id bigint, webhook_id bigint, created_at bigint, secret text, until bigint);

insert into webhook_state (site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at) select site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at from json_to_recordset($1::json) as given (site_id bigint, webhook_id bigint, home text, cursor text, epoch text, first_revision bigint, last_revision bigint, rewinds bigint, failures bigint, failing_since bigint, next_at bigint, is_gone bigint, holder text, lease_until bigint, resumes bigint, since text, gone_at bigint) on conflict (site_id, webhook_id) do update set home = excluded.home, cursor = excluded.cursor, epoch = excluded.epoch, first_revision = excluded.first_revision, last_revision = excluded.last_revision, rewinds = excluded.rewinds, failures = excluded.failures, failing_since = excluded.failing_since, next_at = excluded.next_at, is_gone = excluded.is_gone, holder = excluded.holder, lease_until = excluded.lease_until, resumes = excluded.resumes, since = excluded.since, gone_at = excluded.gone_at;

rollback;

select (extract(epoch from clock_timestamp()) * <number>)::bigint as now;

select <number> from records where site_id = <number> and resource = 'site' and id = <number> and body is null;

select <number> from sites where floor is null or last_at is null or live is null or live_revision is distinct from revision limit <number>;

select at, status, milliseconds, fault from webhook_attempts where site_id = <number> and webhook_id = <number> order by number desc;

select c.relname as name, a.privilege_type as privilege, a.is_grantable, case when a.grantee = <number> then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as role from pg_class c, aclexplode(c.relacl) a where c.oid in ('sites'::regclass, 'records'::regclass, 'journal'::regclass, 'idempotency'::regclass, 'key_uses'::regclass, 'webhook_state'::regclass, 'webhook_secrets'::regclass, 'webhook_attempts'::regclass, 'credentials'::regclass) and a.grantee <> c.relowner;

select case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as name;

select coalesce(max(number), <number>) as number from webhook_attempts where site_id = <number> and webhook_id = <number>;

select distinct v.oid, v.oid::regclass::text as name, pg_get_viewdef(v.oid) as definition, array_to_string(v.reloptions, ', ') as options from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid in ('sites'::regclass, 'records'::regclass, 'journal'::regclass, 'idempotency'::regclass, 'key_uses'::regclass, 'webhook_state'::regclass, 'webhook_secrets'::regclass, 'webhook_attempts'::regclass, 'credentials'::regclass) order by v.oid;

select distinct v.oid, v.oid::regclass::text as name, v.relkind, pg_has_role(v.relowner, 'USAGE') as is_own from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid in ('sites'::regclass, 'records'::regclass, 'journal'::regclass, 'idempotency'::regclass, 'key_uses'::regclass, 'webhook_state'::regclass, 'webhook_secrets'::regclass, 'webhook_attempts'::regclass, 'credentials'::regclass) order by v.oid;

select found.* from json_to_recordset($1::json) as given (site_id bigint, key_id bigint, name text) cross join lateral (select site_id, key_id, name, digest, at, operation, id, revision, body from idempotency where idempotency.site_id = given.site_id and idempotency.key_id = given.key_id and idempotency.name between given.name and given.name order by idempotency.name limit <number>) as found;

select found.* from json_to_recordset($1::json) as given (site_id bigint, resource text, id bigint) cross join lateral (select site_id, resource, id, revision, body from records where records.site_id = given.site_id and records.resource = given.resource and records.id between given.id and given.id order by records.id limit <number>) as found;

select found.* from json_to_recordset($1::json) as given (site_id bigint, webhook_id bigint) cross join lateral (select site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at from webhook_state where webhook_state.site_id = given.site_id and webhook_state.webhook_id between given.webhook_id and given.webhook_id order by webhook_state.webhook_id limit <number>) as found order by site_id, webhook_id;

select id from storefront_schema where id = <number> for update;

select id, (select at from idempotency where site_id = sites.id order by at limit <number>) as oldest from sites where id > <number> order by id limit <number>;

select id, epoch from sites order by id for update;

select id, epoch, revision, counters, floor, last_at, live, live_revision from sites where id in (<number>) order by id for update;

select id, revision, epoch from sites where id in (<number>);

select id, revision, epoch from storefront_replaced_<run>_sites;

select id, revision, epoch, live, live_revision from sites where id in (<number>);

select key_id, at from key_uses;

select name from this_database where id = <number>;

select pg_notify('storefront_commits', '<changed>');

select relname from pg_class where relkind = 'r' and pg_table_is_visible(oid);

select revision, at, actor, resource, id, operation, body from journal where site_id = <number> and revision = (select revision from sites where id = <number>);

select revision, at, actor, resource, id, operation, body from journal where site_id = <number> and revision > <number> order by revision limit <number>;

select secret, created_at, until from webhook_secrets where site_id = <number> and webhook_id = <number> order by created_at desc;

select site_id, resource, id, revision, null as body from records where site_id = <number> and resource = 'key' and id in (<number>) union all select site_id, resource, id, revision, null as body from records where site_id = <number> and resource = 'site' and id in (<number>);

select site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at from webhook_state order by site_id, webhook_id;

select site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until, resumes, since, gone_at from webhook_state where site_id = <number> and webhook_id = <number> for update;

select sites.revision, sites.epoch, live, live_revision, found.id, resource, record_revision, body from sites left join lateral ( select id, resource, revision as record_revision, body from records where site_id = sites.id and resource = $2 and body is not null order by id limit $3 offset $4 ) as found on true where sites.id = $1 order by found.id;

select sites.revision, sites.epoch, live, live_revision, found.id, resource, record_revision, body, (select revision from sites where id = <number>) as system_revision, (select epoch from sites where id = <number>) as system_epoch from sites left join lateral ( select id, resource, revision as record_revision, body from records where site_id = sites.id and resource = $2 and id = $3 ) as found on true where sites.id = $1;

select to_regclass('storefront_schema') is not null as is_there, current_setting('server_encoding', true) as encoding;

select version from storefront_schema where id = <number>;

select version from storefront_schema where id = <number> for share;

select version, views, current_database() as name, exists ( select <number> from pg_attribute where attrelid = to_regclass('sites') and attname = 'live_revision' ) as "sites.live_revision", exists ( select <number> from pg_attribute where attrelid = to_regclass('webhook_attempts') and attname = 'fault' ) as "webhook_attempts.fault", exists ( select <number> from pg_attribute where attrelid = to_regclass('credentials') and attname = 'expires_at' ) as "credentials.expires_at", exists ( select <number> from pg_attribute where attrelid = to_regclass('webhook_state') and attname = 'gone_at' ) as "webhook_state.gone_at" from storefront_schema where id = <number>;

set local enable_seqscan = off;

set local idle_in_transaction_session_timeout = 10000;

set local lock_timeout = 1600;

set local lock_timeout = 500;

set local statement_timeout = 0;

set local statement_timeout = 2000;

set local synchronous_commit = off;

update journal set operation = 'update' where operation = 'restore' and site_id in (select id from sites where floor is null and id = <number>);

update sites as sites set floor = coalesce(floor, (select min(journal.revision) from journal as journal where journal.site_id = sites.id) - <number>, revision), last_at = coalesce((select at from journal as journal where journal.site_id = sites.id and journal.revision = sites.revision), last_at, <number>), live = (select coalesce(json_object_agg(resource, json_build_object('count', count, 'revision', revision)), '{}')::text from (select resource, count(body) as count, max(revision) as revision from records where site_id = sites.id group by resource) as counted), live_revision = revision where (floor is null or last_at is null or live is null or live_revision is distinct from revision) and id = <number>;

update sites set epoch = $2 where sites.id = $1;

update storefront_schema set version = <number>, views = $1 where id = <number>;

update storefront_unused_<run>_journal set operation = 'update' where operation = 'restore' and site_id in (select id from storefront_unused_<run>_sites where floor is null);

update storefront_unused_<run>_sites as sites set floor = coalesce(floor, (select min(journal.revision) from storefront_unused_<run>_journal as journal where journal.site_id = sites.id) - <number>, revision), last_at = coalesce((select at from storefront_unused_<run>_journal as journal where journal.site_id = sites.id and journal.revision = sites.revision), last_at, <number>), live = (select coalesce(json_object_agg(resource, json_build_object('count', count, 'revision', revision)), '{}')::text from (select resource, count(body) as count, max(revision) as revision from storefront_unused_<run>_records where site_id = sites.id group by resource) as counted), live_revision = revision where (floor is null or last_at is null or live is null or live_revision is distinct from revision);
