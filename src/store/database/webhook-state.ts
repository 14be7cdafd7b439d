// The rows of webhooks, and the rules for changes of their states, shared by the engines. An engine reads a state, decides with these functions,
// and stores the new state, in one transaction that has locked the row.

import type { DumpedRow } from "../../model/engine.ts";
import type {
  DeliveryAttempt,
  WebhookChanges,
  WebhookExpectation,
  WebhookRef,
  WebhookSecret,
  WebhookState,
} from "../../model/webhooks.ts";

type Row = DumpedRow["row"];

/** The column of each value of a state. */
const stateColumns = {
  site: "site_id",
  webhook: "webhook_id",
  home: "home",
  cursor: "cursor",
  epoch: "epoch",
  first: "first_revision",
  last: "last_revision",
  rewinds: "rewinds",
  failures: "failures",
  failingSince: "failing_since",
  nextAt: "next_at",
  isGone: "is_gone",
  holder: "holder",
  leaseUntil: "lease_until",
  resumes: "resumes",
  since: "since",
  goneAt: "gone_at",
} as const satisfies Record<keyof WebhookState, string>;

const stateEntries = Object.entries(stateColumns) as [keyof WebhookState, string][];

/** A statement for every engine that reads the random ID of this database. Dumps do not contain it. */
export const selectThisDatabase = "select name from this_database where id = 1";

export function toStateRow(state: WebhookState): Row {
  return Object.fromEntries(stateEntries.map(([name, column]) => [column, state[name]]));
}

export function fromStateRow(row: Row): WebhookState {
  const state = Object.fromEntries(
    stateEntries.map(([name, column]) => [name, row[column]]),
  ) as unknown as WebhookState;
  // An older program version has not stored `resumes`.
  return { ...state, resumes: state.resumes ?? 0 };
}

export function toKeyRow({ site, webhook }: WebhookRef): { site_id: number; webhook_id: number } {
  return { site_id: site, webhook_id: webhook };
}

export function toSecretRow(key: WebhookRef, { secret, createdAt, until }: WebhookSecret): Row {
  return { ...toKeyRow(key), created_at: createdAt, secret, until };
}

/** Converts rows to the secrets of a webhook, in the same order. */
export function fromSecretRows(rows: readonly Row[]): WebhookSecret[] {
  return rows.map(
    ({ secret, created_at: createdAt, until }) => ({ secret, createdAt, until }) as unknown as WebhookSecret,
  );
}

export function toAttemptRow(key: WebhookRef, number: number, attempt: DeliveryAttempt): Row {
  return { ...toKeyRow(key), number, ...attempt };
}

/**
 * Returns the state with the lease of `holder`; undefined if another process has the lease. A lease that ends more than two lease times from now was
 * stored before the clock was set back, and is ignored.
 * @param milliseconds the lease time
 * @param now on the clock of the database, in milliseconds since 1970
 */
export function withLease(
  state: WebhookState,
  holder: string,
  milliseconds: number,
  now: number,
): WebhookState | undefined {
  const left = state.leaseUntil - now;
  const isTaken = state.holder !== null && state.holder !== holder && left > 0 && left <= 2 * milliseconds;
  return isTaken ? undefined : { ...state, holder, leaseUntil: now + milliseconds };
}

/** Returns the state after the changes; undefined if it is not as expected. @param now on the clock of the database, in milliseconds since 1970 */
export function withChangesIfExpected(
  state: WebhookState,
  { holder, cursor, rewinds, resumes }: WebhookExpectation,
  changes: WebhookChanges,
  now: number,
): WebhookState | undefined {
  const isOwnLease = holder === undefined || (state.holder === holder && state.leaseUntil > now);
  const isSame = state.cursor === cursor && state.rewinds === rewinds && state.resumes === resumes;
  return isOwnLease && isSame ? { ...state, ...changes } : undefined;
}

/**
 * Returns the secrets after a rotation: the new secret, and the present secret, which then ends at `until`. Earlier secrets end at once. The times
 * are in milliseconds since 1970.
 * @param secrets the latest first
 */
export function withRotatedSecret(
  [present]: readonly WebhookSecret[],
  secret: string,
  now: number,
  until: number,
): readonly WebhookSecret[] {
  const createdAt = present ? Math.max(now, present.createdAt + 1) : now;
  return [{ secret, createdAt, until: null }, ...(present ? [{ ...present, until }] : [])];
}
