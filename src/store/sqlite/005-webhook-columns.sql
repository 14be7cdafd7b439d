-- Only adds columns, so older programs work on this table too. They leave these columns as they are.
-- resumes: how often an operator resumed the webhook; null for never.
-- since: the cursor after the event that was delivered last; null where an older program delivered it, or none was.
-- gone_at: when it was found that changes are gone, while that has to be delivered; null where an older program found it.

alter table webhook_state add column resumes integer;
alter table webhook_state add column since text;
alter table webhook_state add column gone_at integer;
