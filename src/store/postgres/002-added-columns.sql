-- This migration only adds columns, so that older programs can use these tables too. `store/database/tables.ts` says what that means for the values.
-- floor: the journal is pruned through this revision; null if an older program wrote the row: then the first entry of the journal tells it.
-- last_at: the latest time of a journal entry. If an older program wrote the last entry, the time of that entry counts.
-- live, live_revision: the number of records of each resource and the revision of their last change, as JSON; valid only at that site revision.
-- run, before: the run ID of the entry, and the record before the change; null if they are not known.

alter table sites add column floor bigint;
alter table sites add column last_at bigint;
alter table sites add column live text;
alter table sites add column live_revision bigint;
alter table journal add column run text;
alter table journal add column before text;

update sites set last_at = (select at from journal where site_id = sites.id and journal.revision = sites.revision);
