-- The tables of schema version 1, as the base version has them. Later columns and tables are added by files of their own, never here (`lastAdded` in
-- store/database/schema-versions.ts). store/database/tables.ts says what each table has.
-- The primary key of each table with rows of a site begins with the site.
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
  id integer primary key,
  epoch text not null,
  revision integer not null,
  counters text not null,
  floor integer,
  last_at integer,
  live text,
  live_revision integer
) strict;

create table records (
  site_id integer not null,
  resource text not null,
  id integer not null,
  revision integer not null,
  body text,
  primary key (site_id, resource, id)
) strict, without rowid;

create table journal (
  site_id integer not null,
  revision integer not null,
  at integer not null,
  actor text not null,
  resource text not null,
  id integer not null,
  operation text not null,
  body text not null,
  run text,
  before text,
  primary key (site_id, revision)
) strict, without rowid;

create table idempotency (
  site_id integer not null,
  key_id integer not null,
  name text not null,
  digest text not null,
  at integer not null,
  operation text not null,
  id integer not null,
  revision integer not null,
  body text not null,
  primary key (site_id, key_id, name)
) strict, without rowid;

create index idempotency_at on idempotency (at);

create table key_uses (
  key_id integer primary key,
  at integer not null
) strict;

create table webhook_state (
  site_id integer not null,
  webhook_id integer not null,
  home text not null,
  cursor text not null,
  epoch text not null,
  first_revision integer not null,
  last_revision integer not null,
  rewinds integer not null,
  failures integer not null,
  failing_since integer,
  next_at integer not null,
  is_gone integer not null,
  holder text,
  lease_until integer not null,
  primary key (site_id, webhook_id)
) strict, without rowid;

create table webhook_secrets (
  site_id integer not null,
  webhook_id integer not null,
  created_at integer not null,
  secret text not null,
  until integer,
  primary key (site_id, webhook_id, created_at)
) strict, without rowid;

create table webhook_attempts (
  site_id integer not null,
  webhook_id integer not null,
  number integer not null,
  at integer not null,
  status integer,
  milliseconds integer not null,
  fault text,
  primary key (site_id, webhook_id, number)
) strict, without rowid;

create table this_database (
  id integer primary key,
  name text not null
) strict;

insert into this_database (id, name) values (1, lower(hex(randomblob(16))));

create table credentials (
  digest text not null primary key,
  kind text not null,
  operator_id integer not null,
  expires_at integer not null
) strict, without rowid;
