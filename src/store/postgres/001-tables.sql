-- The primary key of each table with rows of a site begins with the site, so that a database on several machines can distribute the sites.
-- A deleted record keeps its row, with null as its body, so that its ID is never used again.

create table sites (
  id bigint primary key,
  epoch text not null,
  revision bigint not null,
  counters text not null
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
