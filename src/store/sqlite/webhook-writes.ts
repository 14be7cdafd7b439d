// The writes of webhook states, secrets and delivery attempts: the calls of the engine, and how the writer thread executes them.

import type { Database } from "bun:sqlite";
import type { DumpedRow } from "../../model/engine.ts";
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
  toAttemptRow,
  toKeyRow,
  toSecretRow,
  toStateRow,
  withChangesIfExpected,
  withLease,
  withRotatedSecret,
} from "../database/webhook-state.ts";
import { insert, put, select } from "./statements.ts";
import { runInBatches } from "./webhook-batches.ts";
import { selectSecrets } from "./webhook-reads.ts";

type Row = DumpedRow["row"];

const webhookTables = ["webhook_state", "webhook_secrets", "webhook_attempts"] as const;

type WebhookWrites = Pick<
  WebhookStore,
  | "acquireWebhookLease"
  | "compareAndSetWebhook"
  | "saveWebhook"
  | "rotateWebhookSecret"
  | "removeWebhook"
  | "addWebhookAttempt"
>;

/** A message to the writer thread: one call. */
export interface WebhookWrite {
  readonly name: keyof WebhookWrites;
  readonly args: readonly unknown[];
  /**
   * Time of the call, in milliseconds since 1970. The writer thread uses this time also if the call had to wait. So a lease may be shorter than
   * requested, but the lease of another process is never acquired before its end.
   */
  readonly now: number;
}

/** Creates the calls that write webhooks. @param send sends writes to the writer thread, and returns the result of `writeWebhooks` there */
export function createWebhookWrites(
  send: (writes: readonly WebhookWrite[]) => Promise<string>,
  clock: () => number,
): WebhookWrites {
  const write = runInBatches(send);
  const call =
    (name: keyof WebhookWrites) =>
    // biome-ignore lint/suspicious/noExplicitAny: the other thread returns what the call of this name returns
    async (...args: unknown[]): Promise<any> =>
      (await write({ name, args, now: clock() })) ?? undefined;
  return {
    acquireWebhookLease: call("acquireWebhookLease"),
    compareAndSetWebhook: call("compareAndSetWebhook"),
    saveWebhook: call("saveWebhook"),
    rotateWebhookSecret: call("rotateWebhookSecret"),
    removeWebhook: call("removeWebhook"),
    addWebhookAttempt: call("addWebhookAttempt"),
  };
}

/** Executes calls in order, in a transaction that the caller has begun. Returns their results as a JSON array. */
export function writeWebhooks(database: Database, writes: readonly WebhookWrite[]): string {
  return JSON.stringify(writes.map((write) => carryOut(database, write) ?? null));
}

function carryOut(database: Database, { name, args, now }: WebhookWrite): unknown {
  return (createWrites(database, now)[name] as (...args: readonly unknown[]) => unknown)(...args);
}

type InThisThread = {
  [N in keyof WebhookWrites]: (...args: Parameters<WebhookWrites[N]>) => Awaited<ReturnType<WebhookWrites[N]>>;
};

function createWrites(database: Database, now: number): InThisThread {
  return {
    acquireWebhookLease: (key, holder, milliseconds) =>
      changeState(database, key, (state) => withLease(state, holder, milliseconds, now)),
    compareAndSetWebhook: (key, expected, changes) =>
      changeState(database, key, (state) => withChangesIfExpected(state, expected, changes, now)) !== undefined,
    saveWebhook: (state, secrets) => {
      removeAll(database, state);
      run(database, insert("webhook_state"), toStateRow(state));
      putSecrets(database, state, secrets);
    },
    rotateWebhookSecret: (key, ...added) => {
      if (!stateOf(database, key)) return false;
      putSecrets(database, key, withRotatedSecret(secretsOf(database, key), ...added));
      return true;
    },
    removeWebhook: (key) => removeAll(database, key),
    addWebhookAttempt: (key, attempt) => {
      if (stateOf(database, key)) addAttempt(database, key, attempt);
    },
  };
}

/** Saves the state that `change` returns, and returns it. Returns undefined if `change` does so, or if the webhook has no state. */
function changeState(
  database: Database,
  key: WebhookRef,
  change: (state: WebhookState) => WebhookState | undefined,
): WebhookState | undefined {
  const state = stateOf(database, key);
  const changed = state && change(state);
  if (changed) run(database, put("webhook_state"), toStateRow(changed));
  return changed;
}

function stateOf(database: Database, key: WebhookRef): WebhookState | undefined {
  const row = database.query<Row, [Row]>(select("webhook_state")).get(toKeyRow(key));
  return row ? fromStateRow(row) : undefined;
}

function removeAll(database: Database, key: WebhookRef): void {
  for (const table of webhookTables) remove(database, table, key);
}

/** Replaces the secrets of a webhook. If `secrets` is empty, deletes the state, the secrets and the delivery attempts of the webhook. */
export function setWebhookSecrets(database: Database, key: WebhookRef, secrets: readonly WebhookSecret[]): void {
  if (secrets.length === 0) removeAll(database, key);
  else putSecrets(database, key, secrets);
}

function secretsOf(database: Database, { site, webhook }: WebhookRef): WebhookSecret[] {
  return fromSecretRows(database.query<Row, [number, number]>(selectSecrets).all(site, webhook));
}

function putSecrets(database: Database, key: WebhookRef, secrets: readonly WebhookSecret[]): void {
  remove(database, "webhook_secrets", key);
  for (const secret of secrets) run(database, insert("webhook_secrets"), toSecretRow(key, secret));
}

function addAttempt(database: Database, key: WebhookRef, attempt: DeliveryAttempt): void {
  const last = database
    .query<{ last: number }, [Row]>(
      "select coalesce(max(number), 0) as last from webhook_attempts where site_id = $site_id and webhook_id = $webhook_id",
    )
    .get(toKeyRow(key))?.last as number;
  run(database, insert("webhook_attempts"), toAttemptRow(key, last + 1, attempt));
  remove(database, "webhook_attempts", key, `and number <= ${last + 1 - maxWebhookAttempts}`);
}

function remove(
  database: Database,
  table: (typeof webhookTables)[number],
  { site, webhook }: WebhookRef,
  which = "",
): void {
  database.query(`delete from ${table} where site_id = ? and webhook_id = ? ${which}`).run(site, webhook);
}

function run(database: Database, text: string, row: Row): void {
  database.query<never, [Row]>(text).run(row);
}
