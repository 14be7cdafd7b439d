-- This addition only adds a table, so that older programs can use the database too. The time as of which the last backup was made, in milliseconds since
-- 1970. Backups, restores and copies leave the table out.

create table if not exists last_backup (id bigint primary key, at bigint not null);
