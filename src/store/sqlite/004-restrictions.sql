-- This addition only adds a table, so that older programs can use the database too. They neither fill it nor carry it over.
-- kind, name: what is limited, by a name that stays the same in every backup and site file (`lastingName` in store/database/restrictions.ts).
-- field, value: the limit, and what was last decided about it. at: when, in milliseconds since 1970.

create table restrictions (
  kind text not null,
  name text not null,
  field text not null,
  value text not null,
  at integer not null,
  primary key (kind, name, field)
) strict, without rowid;
