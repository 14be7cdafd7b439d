-- This addition only adds a column, so that older programs can use this table too. They do not change this column.
-- exchange: the request and the response of the attempt as JSON (DeliveryExchange in model/webhooks.ts). It is null for attempts of older programs, and
--   for all but the last 20 attempts of a webhook.

alter table webhook_attempts add column exchange text;
