-- Only adds columns, so older programs work on these tables too. `store/database/tables.ts` says what that means for the values.
-- floor: the revision before the first entry of the journal that was kept, where it is not what the journal begins with.
-- last_at: the latest time of an entry, unless the last entry has a later one.
-- live, live_revision: how many records of each resource there are and when they last changed, as of that revision of the site.
-- run, before: what an entry has in common with the others of the same command, and the record before the change, where known.

alter table sites add column floor integer;
alter table sites add column last_at integer;
alter table sites add column live text;
alter table sites add column live_revision integer;
alter table journal add column run text;
alter table journal add column before text;

update sites set last_at = (select at from journal where site_id = sites.id and journal.revision = sites.revision);
