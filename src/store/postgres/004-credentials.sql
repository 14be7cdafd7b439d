-- Only adds a table, so older programs work on this database too.
-- credentials: the links and sessions of operators, which are in no dump. Only digests of the secrets are stored.

create table credentials (
  digest text not null primary key,
  kind text not null,
  operator_id bigint not null,
  expires_at bigint not null
);
