-- This migration only adds a table, so that older programs can use this database too.
-- credentials: the links and sessions of operators. No dump contains them. Only digests of their secrets are stored.

create table credentials (
  digest text not null primary key,
  kind text not null,
  operator_id bigint not null,
  expires_at bigint not null
);
