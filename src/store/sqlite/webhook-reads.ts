import type { Database } from "bun:sqlite";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import type { DeliveryAttempt, WebhookRef } from "../../model/webhooks.ts";
import { columnsOf } from "../database/tables.ts";
import { fromSecretRows, fromStateRow, selectThisDatabase } from "../database/webhook-state.ts";
import type { GuardedReads } from "./reads.ts";

type WebhookReads = Pick<Engine, "webhookStates" | "webhookSecrets" | "webhookAttempts" | "readDatabaseId">;

type Row = DumpedRow["row"];

const ofWebhook = "where site_id = ? and webhook_id = ?";

export const selectSecrets = `select secret, created_at, until from webhook_secrets ${ofWebhook} order by created_at desc`;

/** Creates the calls that read webhook states, secrets and delivery attempts. */
export function createWebhookReads(database: Database, { read, readInTransaction }: GuardedReads): WebhookReads {
  const sql = statements(database);
  const values = ({ site, webhook }: WebhookRef): [number, number] => [site, webhook];
  return {
    webhookStates: (keys) =>
      readInTransaction(() => {
        if (!keys) return sql.states.all().map(fromStateRow);
        const sorted = [...keys].sort((a, b) => a.site - b.site || a.webhook - b.webhook);
        const found = sorted.map((key) => sql.state.get(...values(key)));
        return found.filter((row) => row !== null).map(fromStateRow);
      }),
    webhookSecrets: (key) => read(() => fromSecretRows(sql.secrets.all(...values(key)))),
    webhookAttempts: (key) => read(() => sql.attempts.all(...values(key))),
    readDatabaseId: () => read(() => (sql.identity.get() as { name: string }).name),
  };
}

function statements(database: Database) {
  const states = `select ${columnsOf("webhook_state").join(", ")} from webhook_state`;
  return {
    states: database.query<Row, []>(`${states} order by site_id, webhook_id`),
    state: database.query<Row, [number, number]>(`${states} ${ofWebhook}`),
    secrets: database.query<Row, [number, number]>(selectSecrets),
    attempts: database.query<DeliveryAttempt, [number, number]>(
      `select at, status, milliseconds, fault from webhook_attempts ${ofWebhook} order by number desc`,
    ),
    identity: database.query(selectThisDatabase),
  };
}
