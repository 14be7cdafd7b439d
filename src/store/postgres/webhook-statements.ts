// The statements about webhooks, built as statements.ts explains.

import type { WebhookRef } from "../../model/webhooks.ts";
import { columnsOf, primaryKeyOf } from "../database/tables.ts";
import { fetch, list, put } from "./statements.ts";

const inOrder = `order by ${primaryKeyOf("webhook_state").join(", ")}`;
const stateColumns = columnsOf("webhook_state").join(", ");

export const webhookSql = {
  states: `select ${stateColumns} from webhook_state ${inOrder}`,

  statesOf: `${fetch("webhook_state")} ${inOrder}`,

  lockState: (key: WebhookRef) => `select ${stateColumns} from webhook_state ${ofWebhook(key)} for update`,

  /** The clock of the database, in milliseconds since 1970. */
  now: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",

  putState: put("webhook_state"),

  removeState: (key: WebhookRef) => `delete from webhook_state ${ofWebhook(key)}`,

  secrets: (key: WebhookRef) =>
    `select secret, created_at, until from webhook_secrets ${ofWebhook(key)} order by created_at desc`,

  removeSecrets: (key: WebhookRef) => `delete from webhook_secrets ${ofWebhook(key)}`,

  attempts: (key: WebhookRef) =>
    `select at, status, milliseconds, fault from webhook_attempts ${ofWebhook(key)} order by number desc`,

  lastAttempt: (key: WebhookRef) => `select coalesce(max(number), 0) as number from webhook_attempts ${ofWebhook(key)}`,

  /** @param through the number of the last attempt to delete; by default, all attempts are deleted */
  removeAttempts: (key: WebhookRef, through = Number.MAX_SAFE_INTEGER) =>
    `delete from webhook_attempts ${ofWebhook(key)} and number <= ${list([through])}`,
} as const;

function ofWebhook({ site, webhook }: WebhookRef): string {
  return `where site_id = ${list([site])} and webhook_id = ${list([webhook])}`;
}
