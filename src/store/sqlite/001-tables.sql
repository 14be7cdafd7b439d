-- The primary key of each table with rows of a site begins with the site.
-- A deleted record keeps its row, with null as its body, so that its ID is never used again.

create table sites (
  id integer primary key,
  epoch text not null,
  revision integer not null,
  counters text not null
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
