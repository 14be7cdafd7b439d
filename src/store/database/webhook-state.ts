// The rows of webhooks: the operations on them (`WebhookStore` in model/webhooks.ts), and the rules for changing a state.
//
// Writes lock the webhook's state first. So they're executed one at a time, and a restore can't replace the tables during one.

import {
  type DeliveryAttempt,
  type DeliveryExchange,
  type KeptAttempt,
  maxWebhookAttempts,
  maxWebhookExchanges,
  type WebhookExpectation,
  type WebhookRef,
  type WebhookSecret,
  type WebhookState,
  type WebhookStateUpdate,
} from "../../model/webhooks.ts";
import { recordRotation } from "./restrictions.ts";
import { columnsOf, type TableRow } from "./tables.ts";
import {
  execute,
  findByKeys,
  insert,
  query,
  queryForUpdate,
  type Row,
  readTime,
  type Transaction,
  upsert,
} from "./transaction.ts";

/** The member of `WebhookState` for each column. */
const stateMembers = {
  site_id: "site",
  webhook_id: "webhook",
  home: "home",
  cursor: "cursor",
  epoch: "epoch",
  first_revision: "first",
  last_revision: "last",
  rewinds: "rewinds",
  failures: "failures",
  failing_since: "failingSince",
  next_at: "nextAt",
  holder: "holder",
  lease_until: "leaseUntil",
  resumes: "resumes",
  since: "since",
  gone_at: "goneAt",
} as const satisfies Record<keyof TableRow<"webhook_state">, keyof WebhookState>;

type StateMember = (typeof stateMembers)[keyof typeof stateMembers];

const stateEntries = Object.entries(stateMembers) as [keyof TableRow<"webhook_state">, keyof WebhookState][];

function toStateRow(state: WebhookState): TableRow<"webhook_state"> {
  return Object.fromEntries(
    stateEntries.map(([column, name]) => [column, state[name]]),
  ) as unknown as TableRow<"webhook_state">;
}

function fromStateRow(row: Row): WebhookState {
  // The types of the values aren't checked; they're those of the columns. The names are: a member without a column won't compile here, and a column
  // without a member won't in `stateMembers`. An added column needs a default here.
  return Object.fromEntries(stateEntries.map(([column, name]) => [name, row[column]])) as Record<StateMember, never>;
}

function toKeyRow({ site, webhook }: WebhookRef): { site_id: number; webhook_id: number } {
  return { site_id: site, webhook_id: webhook };
}

function toSecretRow(ref: WebhookRef, { secret, createdAt, until }: WebhookSecret): TableRow<"webhook_secrets"> {
  return { ...toKeyRow(ref), created_at: createdAt, secret, until };
}

/** In the same order. */
export function fromSecretRows(rows: readonly Row[]): WebhookSecret[] {
  return rows.map(
    ({ secret, created_at: createdAt, until }) => ({ secret, createdAt, until }) as unknown as WebhookSecret,
  );
}

function toAttemptRow(
  ref: WebhookRef,
  { number, at, status, milliseconds, fault }: KeptAttempt,
  exchange: DeliveryExchange | undefined,
): TableRow<"webhook_attempts"> {
  const exchangeJson = exchange === undefined ? null : JSON.stringify(exchange);
  return { ...toKeyRow(ref), number, at, status, milliseconds, fault, exchange: exchangeJson };
}

/**
 * Returns the state with a lease for `holder`; undefined if another process has the lease. A lease that ends more than two lease times from now was
 * stored before the clock was set back, and is ignored.
 * @param milliseconds the lease time
 * @param now by the database's clock, in milliseconds since 1970
 */
function withLease(state: WebhookState, holder: string, milliseconds: number, now: number): WebhookState | undefined {
  const remainingMs = state.leaseUntil - now;
  const isTaken =
    state.holder !== null && state.holder !== holder && remainingMs > 0 && remainingMs <= 2 * milliseconds;
  return isTaken ? undefined : { ...state, holder, leaseUntil: now + milliseconds };
}

/** Returns the updated state; undefined if it isn't as expected. @param now by the database's clock, in milliseconds since 1970 */
function withUpdateIfExpected(
  state: WebhookState,
  { holder, cursor, rewinds, resumes }: WebhookExpectation,
  update: WebhookStateUpdate,
  now: number,
): WebhookState | undefined {
  const isOwnLease = holder === undefined || (state.holder === holder && state.leaseUntil > now);
  const isSame = state.cursor === cursor && state.rewinds === rewinds && state.resumes === resumes;
  return isOwnLease && isSame ? { ...state, ...update } : undefined;
}

/**
 * Returns the new secret and the current one, which is now valid until `until`. Older ones end immediately. Times are in milliseconds since 1970.
 * @param current the latest secret
 */
function withRotatedSecret(
  [current]: readonly WebhookSecret[],
  secret: string,
  now: number,
  until: number,
): readonly WebhookSecret[] {
  const createdAt = current ? Math.max(now, current.createdAt + 1) : now;
  return [{ secret, createdAt, until: null }, ...(current ? [{ ...current, until }] : [])];
}

const ofWebhook = "where site_id = :site_id and webhook_id = :webhook_id";
const states = `select ${columnsOf("webhook_state").join(", ")} from webhook_state`;

export function* readWebhookStates(refs?: readonly WebhookRef[]): Transaction<readonly WebhookState[]> {
  const rows = refs ? yield findByKeys("webhook_state", refs.map(toKeyRow)) : yield query(states);
  return rows.map(fromStateRow).sort((a, b) => a.site - b.site || a.webhook - b.webhook);
}

export function* readWebhookSecrets(ref: WebhookRef): Transaction<readonly WebhookSecret[]> {
  const text = `select secret, created_at, until from webhook_secrets ${ofWebhook} order by created_at desc`;
  return fromSecretRows(yield query(text, toKeyRow(ref)));
}

const attemptColumns = "number, at, status, milliseconds, fault";

export function* readWebhookAttempts(ref: WebhookRef, limit = maxWebhookAttempts): Transaction<readonly KeptAttempt[]> {
  const text = `select ${attemptColumns} from webhook_attempts ${ofWebhook} order by number desc limit :max`;
  return (yield query(text, { ...toKeyRow(ref), max: limit })) as unknown as readonly KeptAttempt[];
}

const latestAttempts = `select webhook_id, ${attemptColumns} from (
  select webhook_id, ${attemptColumns}, row_number() over (partition by webhook_id order by number desc) as place
  from webhook_attempts where site_id = :site_id
) as attempts where place <= :max order by number desc`;

export function* readLatestAttempts(
  site: number,
  limit: number,
): Transaction<ReadonlyMap<number, readonly KeptAttempt[]>> {
  const rows = yield query(latestAttempts, { site_id: site, max: limit });
  const latest = new Map<number, KeptAttempt[]>();
  for (const { webhook_id: webhook, ...attempt } of rows) {
    const known = latest.get(Number(webhook)) ?? [];
    latest.set(Number(webhook), [...known, attempt as unknown as KeptAttempt]);
  }
  return latest;
}

export function* readWebhookExchange(ref: WebhookRef, number: number): Transaction<DeliveryExchange | undefined> {
  const text = `select exchange from webhook_attempts ${ofWebhook} and number = :number`;
  const [row] = yield query(text, { ...toKeyRow(ref), number });
  return typeof row?.exchange === "string" ? JSON.parse(row.exchange) : undefined;
}

export function* acquireWebhookLease(
  ref: WebhookRef,
  holder: string,
  milliseconds: number,
): Transaction<WebhookState | undefined> {
  const state = yield* lockState(ref);
  return yield* upsertState(state && withLease(state, holder, milliseconds, yield* readTime()));
}

export function* compareAndSetWebhook(
  ref: WebhookRef,
  expected: WebhookExpectation,
  update: WebhookStateUpdate,
): Transaction<boolean> {
  const state = yield* lockState(ref);
  const changed = state && withUpdateIfExpected(state, expected, update, yield* readTime());
  return (yield* upsertState(changed)) !== undefined;
}

export function* saveWebhook(state: WebhookState, secrets: readonly WebhookSecret[]): Transaction<void> {
  yield* lockState(state);
  yield* upsertState(state);
  yield execute(`delete from webhook_attempts ${ofWebhook}`, toKeyRow(state));
  yield* replaceSecrets(state, secrets);
  yield* recordRotation(secrets);
}

export function* rotateWebhookSecret(
  ref: WebhookRef,
  secret: string,
  createdAt: number,
  until: number,
): Transaction<boolean> {
  if (!(yield* lockState(ref))) return false;
  const secrets = withRotatedSecret(yield* readWebhookSecrets(ref), secret, createdAt, until);
  yield* replaceSecrets(ref, secrets);
  yield* recordRotation(secrets);
  return true;
}

export function* deleteWebhook(ref: WebhookRef): Transaction<void> {
  yield* lockState(ref);
  yield* deleteRows(ref);
}

export function* addWebhookAttempt(
  ref: WebhookRef,
  attempt: DeliveryAttempt,
  exchange?: DeliveryExchange,
): Transaction<void> {
  if (!(yield* lockState(ref))) return;
  const text = `select coalesce(max(number), 0) as last from webhook_attempts ${ofWebhook}`;
  const [row] = yield query(text, toKeyRow(ref));
  const number = Number(row?.last) + 1;
  yield insert("webhook_attempts", [toAttemptRow(ref, { number, ...attempt }, exchange)]);
  const old = { ...toKeyRow(ref), through: number - maxWebhookExchanges };
  yield execute(
    `update webhook_attempts set exchange = null ${ofWebhook} and number <= :through and exchange is not null`,
    old,
  );
  yield execute(`delete from webhook_attempts ${ofWebhook} and number <= :through`, {
    ...toKeyRow(ref),
    through: number - maxWebhookAttempts,
  });
}

/** Replaces a webhook's secrets. Without any, deletes the webhook's state, secrets and attempts. */
export function* amendWebhook(ref: WebhookRef, secrets: readonly WebhookSecret[]): Transaction<void> {
  yield* secrets.length > 0 ? replaceSecrets(ref, secrets) : deleteRows(ref);
}

function* deleteRows(ref: WebhookRef): Transaction<void> {
  for (const table of ["webhook_state", "webhook_secrets", "webhook_attempts"])
    yield execute(`delete from ${table} ${ofWebhook}`, toKeyRow(ref));
}

function* lockState(ref: WebhookRef): Transaction<WebhookState | undefined> {
  const [row] = yield queryForUpdate(`${states} ${ofWebhook}`, toKeyRow(ref));
  return row && fromStateRow(row);
}

function* upsertState(state: WebhookState | undefined): Transaction<WebhookState | undefined> {
  if (state) yield upsert("webhook_state", [toStateRow(state)]);
  return state;
}

function* replaceSecrets(ref: WebhookRef, secrets: readonly WebhookSecret[]): Transaction<void> {
  yield execute(`delete from webhook_secrets ${ofWebhook}`, toKeyRow(ref));
  yield insert(
    "webhook_secrets",
    secrets.map((secret) => toSecretRow(ref, secret)),
  );
}
