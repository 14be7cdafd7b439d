-- This migration only adds tables, so that older programs can use this database too.
-- webhook_state: the cursor, the lease and the failures of each webhook. home is the name of the database that may deliver it (table this_database).
-- webhook_attempts: the last delivery attempts, numbered per webhook.
-- this_database: the random name of this database. No dump contains it, so a database that was filled from a dump has another name.

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
