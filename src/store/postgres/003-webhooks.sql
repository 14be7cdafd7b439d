-- This migration only adds tables, so that older programs can use this database too.
-- webhook_state: the cursor, the lease and the failures of each webhook. home is the name of the database that may deliver it (table this_database).
-- webhook_attempts: the last delivery attempts, numbered per webhook.
-- this_database: the random name of this database. No dump contains it, so a database that was filled from a dump has another name.

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
