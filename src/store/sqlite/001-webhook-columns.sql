-- This addition only adds columns, so that older programs can use this table too. They do not change these columns.
-- resumes: how often an operator has resumed the webhook, or null for never.
-- since: the cursor after the last event that was delivered, or null if no event was delivered, or an older program delivered it.
-- gone_at: the time when missing changes were found, in milliseconds since 1970. It is null after storefront.gone was delivered, and if an older
--   program found them.

alter table webhook_state add column resumes integer;
alter table webhook_state add column since text;
alter table webhook_state add column gone_at integer;
