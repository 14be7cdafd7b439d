// Reads and writes webhook states, secrets and delivery attempts. A write locks the state of its webhook first. So the writes of one webhook are
// executed one after the other, and a restore cannot replace the tables during a write.

import {
  type DeliveryAttempt,
  maxWebhookAttempts,
  type WebhookRef,
  type WebhookSecret,
  type WebhookState,
  type WebhookStore,
} from "../../model/webhooks.ts";
import {
  fromSecretRows,
  fromStateRow,
  selectThisDatabase,
  toAttemptRow,
  toKeyRow,
  toSecretRow,
  toStateRow,
  withChangesIfExpected,
  withLease,
  withRotatedSecret,
} from "../database/webhook-state.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { isCollision } from "./errors.ts";
import type { Pool } from "./pool.ts";
import { lookUp, sql } from "./statements.ts";
import { commitTransaction } from "./transaction-end.ts";
import { webhookSql } from "./webhook-statements.ts";

/** A webhook in a transaction that has locked its state: the state, if any, and the time on the clock of the database in milliseconds since 1970. */
interface Locked {
  readonly connection: PostgresConnection;
  readonly state: WebhookState | undefined;
  readonly now: number;
}

/** Maximum attempts of a transaction that conflicts with other transactions, including the first. */
const maxAttempts = 5;

/** Creates the calls that read and write webhooks. @param timeout the time limit of the pool, in milliseconds */
export function createWebhookStore(pool: Pool, timeout: number): WebhookStore {
  return { ...createReads(pool), ...createWrites((key, work) => changeWebhook(pool, timeout, key, work)) };
}

type ReadNames = "webhookStates" | "webhookSecrets" | "webhookAttempts" | "readDatabaseId";

function createReads(pool: Pool): Pick<WebhookStore, ReadNames> {
  const rows = (text: string) => pool.read(async (connection) => (await connection.script(text))[0] ?? []);
  return {
    webhookStates: async (keys) => (await (keys ? readStates(pool, keys) : rows(webhookSql.states))).map(fromStateRow),
    webhookSecrets: async (key) => fromSecretRows(await rows(webhookSql.secrets(key))),
    webhookAttempts: async (key) => (await rows(webhookSql.attempts(key))) as DeliveryAttempt[],
    readDatabaseId: async () => (await rows(selectThisDatabase))[0]?.name,
  };
}

function createWrites(
  change: <T>(key: WebhookRef, work: (locked: Locked) => Promise<T>) => Promise<T>,
): Omit<WebhookStore, ReadNames> {
  return {
    acquireWebhookLease: (key, holder, milliseconds) =>
      change(key, (locked) => putChanged(locked, (state) => withLease(state, holder, milliseconds, locked.now))),
    compareAndSetWebhook: async (key, expected, changes) => {
      const update = (locked: Locked) =>
        putChanged(locked, (state) => withChangesIfExpected(state, expected, changes, locked.now));
      return (await change(key, update)) !== undefined;
    },
    saveWebhook: (state, secrets) =>
      change(state, async ({ connection }) => {
        await connection.query(webhookSql.putState, [toStateRow(state)]);
        await connection.script(webhookSql.removeAttempts(state));
        await putSecrets(connection, state, secrets);
      }),
    rotateWebhookSecret: (key, ...added) =>
      change(key, async ({ connection, state }) => {
        if (!state) return false;
        const [rows = []] = await connection.script(webhookSql.secrets(key));
        await putSecrets(connection, key, withRotatedSecret(fromSecretRows(rows), ...added));
        return true;
      }),
    removeWebhook: (key) => change(key, ({ connection }) => setWebhookSecrets(connection, key, [])),
    addWebhookAttempt: (key, attempt) =>
      change(key, async ({ connection, state }) => {
        if (state) await addAttempt(connection, key, attempt);
      }),
  };
}

/** Replaces the secrets of a webhook, in a transaction that the caller has begun. If `secrets` is empty, deletes all rows of the webhook. */
export async function setWebhookSecrets(
  connection: PostgresConnection,
  key: WebhookRef,
  secrets: readonly WebhookSecret[],
): Promise<void> {
  if (secrets.length > 0) return putSecrets(connection, key, secrets);
  const removals = [webhookSql.removeState(key), webhookSql.removeSecrets(key), webhookSql.removeAttempts(key)];
  await connection.script(removals.join("; "));
}

async function putSecrets(
  connection: PostgresConnection,
  key: WebhookRef,
  secrets: readonly WebhookSecret[],
): Promise<void> {
  await connection.script(webhookSql.removeSecrets(key));
  const rows = secrets.map((secret) => toSecretRow(key, secret));
  await connection.query(sql.insert("webhook_secrets"), rows);
}

async function addAttempt(connection: PostgresConnection, key: WebhookRef, attempt: DeliveryAttempt): Promise<void> {
  const [[last] = []] = await connection.script(webhookSql.lastAttempt(key));
  const number = last?.number + 1;
  await connection.query(sql.insert("webhook_attempts"), [toAttemptRow(key, number, attempt)]);
  await connection.script(webhookSql.removeAttempts(key, number - maxWebhookAttempts));
}

function readStates(pool: Pool, keys: readonly WebhookRef[]): Promise<ResultRow[]> {
  return pool.read((connection) => lookUp(connection, webhookSql.statesOf, keys.map(toKeyRow)));
}

/** Locks the state of a webhook, runs `work`, and commits, all in one transaction. Repeats this after a conflict with other transactions. */
async function changeWebhook<T>(
  pool: Pool,
  timeout: number,
  key: WebhookRef,
  work: (locked: Locked) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.commit(async (connection, lease) => {
        const [states = [], times = []] = await connection.script(
          `${sql.begin(timeout)}; ${webhookSql.lockState(key)}; ${webhookSql.now}`,
        );
        const state = states[0] && fromStateRow(states[0]);
        const result = await work({ connection, state, now: times[0]?.now });
        await commitTransaction(connection, lease);
        return result;
      });
    } catch (error) {
      if (attempt === maxAttempts || !isCollision((error as Error).cause ?? {})) throw error;
    }
  }
}

/** Saves the state that `change` returns, and returns it. Returns undefined if `change` does so, or if the webhook has no state. */
async function putChanged(
  { connection, state }: Locked,
  change: (state: WebhookState) => WebhookState | undefined,
): Promise<WebhookState | undefined> {
  const changed = state && change(state);
  if (changed) await connection.query(webhookSql.putState, [toStateRow(changed)]);
  return changed;
}
