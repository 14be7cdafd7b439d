-- The tables of schema version 1, as the base version has them. Later columns and tables are added by files of their own, never here (`lastAdded` in
-- store/database/schema-versions.ts). store/database/tables.ts says what each table has.
-- The primary key of each table with rows of a site begins with the site, so that a database on several machines can distribute the sites.
-- A deleted record keeps its row, with null as its body, so that its ID is never used again.
--
-- sites.floor: the journal is pruned through this revision. last_at: the latest time of a journal entry.
-- sites.live: the number of records of each resource and the revision of their last change, as JSON. live_revision: the revision of the site.
--   These four columns are null only if a program older than the base version wrote the row (`incompleteSites` in store/database/incomplete-sites.ts).
-- journal.run: the run ID of the command, or null if a client made the change. before: the record before an update, otherwise null.
-- webhook_state.home: the name of the database that may deliver the webhook (this_database).
-- webhook_attempts: the last delivery attempts, numbered per webhook.
-- this_database: the random name of this database. No dump contains it, so a database that was filled from a dump has another name.
-- credentials: the links and sessions of operators. No dump contains them. Only digests of their secrets are stored.

create table sites (
  id bigint primary key,
  epoch text not null,
  revision bigint not null,
  counters text not null,
  floor bigint,
  last_at bigint,
  live text,
  live_revision bigint
);

create table records (
  site_id bigint not null,
  resource text not null,
  id bigint not null,
  revision bigint not null,
  body text,
  primary key (site_id, resource, id)
);

create table journal (
  site_id bigint not null,
  revision bigint not null,
  at bigint not null,
  actor text not null,
  resource text not null,
  id bigint not null,
  operation text not null,
  body text not null,
  run text,
  before text,
  primary key (site_id, revision)
);

create table idempotency (
  site_id bigint not null,
  key_id bigint not null,
  name text not null,
  digest text not null,
  at bigint not null,
  operation text not null,
  id bigint not null,
  revision bigint not null,
  body text not null,
  primary key (site_id, key_id, name)
);

create index idempotency_at on idempotency (site_id, at);

create table key_uses (
  key_id bigint primary key,
  at bigint not null
);

create table webhook_state (
  site_id bigint not null,
  webhook_id bigint not null,
  home text not null,
  cursor text not null,
  epoch text not null,
  first_revision bigint not null,
  last_revision bigint not null,
  rewinds bigint not null,
  failures bigint not null,
  failing_since bigint,
  next_at bigint not null,
  is_gone bigint not null,
  holder text,
  lease_until bigint not null,
  primary key (site_id, webhook_id)
);

create table webhook_secrets (
  site_id bigint not null,
  webhook_id bigint not null,
  created_at bigint not null,
  secret text not null,
  until bigint,
  primary key (site_id, webhook_id, created_at)
);

create table webhook_attempts (
  site_id bigint not null,
  webhook_id bigint not null,
  number bigint not null,
  at bigint not null,
  status bigint,
  milliseconds bigint not null,
  fault text,
  primary key (site_id, webhook_id, number)
);

create table this_database (
  id bigint primary key,
  name text not null
);

insert into this_database (id, name) values (1, md5(random()::text || random()::text || clock_timestamp()::text));

create table credentials (
  digest text not null primary key,
  kind text not null,
  operator_id bigint not null,
  expires_at bigint not null
);
