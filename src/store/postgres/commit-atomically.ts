// Commits several batches of one site in one transaction (`Engine.commitAtomically`). Other writers of the site wait for it, so it's kept short:
//
// (1) The database and this process work at the same time. Once a batch is decided, we send the look-up of the next batch's rows, then this batch's
// rows to store, without awaiting either. The look-up doesn't see these rows, so the next batch takes them from the decided batch's state.
// (2) The site's state stays in this process until the commit.
// (3) A run has at most some thousand intents. Their rows are looked up before the transaction, which then only reads what has changed since.
//
// For example, a run of 1,200 intents in three batches:
//
//   before the transaction    Look up the intents' rows, as of revision 17 (`readRowsBefore`).
//   begin                     Lock the site, which is at revision 19 by now. Read entries 18 and 19, and update the rows (`lockAndRead`,
//   `addRowsBefore`).
//   batch 1                   Decide it and send its entries, which the database stores while we decide batch 2.
//   batches 2 and 3           The same. If an intent is rejected, roll back.
//   end                       Store the site's state and the response for the idempotency key, and commit.

import { awaitLater } from "../../lib/concurrency.ts";
import { createYielder, nextImmediate } from "../../lib/yielding.ts";
import type { Intent, RecordChange } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, OnOutcomes } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
import { recordRestrictions } from "../database/restrictions.ts";
import type { SiteState } from "../database/site-state.ts";
import { type Transaction, upsert } from "../database/transaction.ts";
import { type BatchResult, type BatchState, decideBatch, keysOfBatch } from "../writes/batch.ts";
import { type BatchRow, BatchRows, type JournalRow, type ResponseRow } from "../writes/batch-rows.ts";
import { BatchTransaction } from "../writes/batch-transaction.ts";
import { storeRows, storeSites, updateMatches } from "../writes/commit-batch.ts";
import { lockAndRead } from "./commit.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import type { CallProgress, Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { awaitAll, commitTransaction, runStatements, sendStatements } from "./transaction.ts";

/** Maximum batches whose rows were sent but aren't stored yet. */
const maxSent = 2;

/** Implements `Engine.commitAtomically`. Fails if the transaction conflicts with another. @param timeoutMs as for `commitIntents` */
export function commitAtomically(
  pool: Pool,
  timeoutMs: number,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: OnOutcomes,
  options: AtomicCommitOptions = {},
): Promise<{ readonly result: AtomicCommitResult; readonly changedSites: ReadonlySet<number> }> {
  return pool.commit(async (connection, progress) => {
    const transaction = new BatchTransaction(options);
    const list = options.run && (await toList(batches));
    const before = list && (await readRowsBefore(connection, list));
    progress.restartTimeLimit();
    const open = new OpenTransaction(connection, progress, transaction, before);
    const begin = `${sql.beginByKeys(timeoutMs)}; `;
    const result = await open.commit(begin, (list ?? batches)[Symbol.iterator](), onOutcomes);
    return { result, changedSites: open.changedSites };
  });
}

/** Makes all batches, yielding to the event loop in between. */
async function toList(batches: Iterable<readonly Intent[]>): Promise<(readonly Intent[])[]> {
  const yieldIfDue = createYielder();
  const all: (readonly Intent[])[] = [];
  for (const intents of batches) {
    all.push(intents);
    await yieldIfDue();
  }
  return all;
}

class OpenTransaction {
  readonly #connection: PostgresConnection;
  readonly #progress: CallProgress;
  readonly #transaction: BatchTransaction;
  readonly #before: RowsBefore | undefined;
  /** The results of storing each batch that was sent. */
  readonly #sent: Promise<unknown>[] = [];
  readonly changedSites = new Set<number>();

  /** @param before the rows of all batches, if they were read before the transaction */
  constructor(
    connection: PostgresConnection,
    progress: CallProgress,
    transaction: BatchTransaction,
    before: RowsBefore | undefined,
  ) {
    this.#connection = connection;
    this.#progress = progress;
    this.#transaction = transaction;
    this.#before = before;
  }

  /** @param begin statements that begin the transaction */
  async commit(
    begin: string,
    batches: Iterator<readonly Intent[]>,
    onOutcomes: OnOutcomes,
  ): Promise<AtomicCommitResult> {
    let next = batches.next();
    if (next.done && !this.#transaction.responseKey) return this.#transaction.result;
    const first = next.done ? [] : next.value;
    const keys = { ...keysOfBatch(first), records: [] };
    const { state: locked, answer } = await lockAndRead(this.#connection, keys, this.#transaction, begin);
    const replay = this.#transaction.findReplay(answer);
    if (replay) return this.#rollBack(replay);
    if (this.#before) await addRowsBefore(this.#connection, this.#before, locked);
    for (let reading = this.#read(first, locked); !next.done; ) {
      const intents = next.value;
      const state = await reading;
      // Sent after the previous batch's rows, so that it sees those entries.
      await runStatements(this.#connection, updateMatches(intents, state));
      const result = decideBatch(intents, state, true);
      await onOutcomes(result.outcomes);
      if (this.#transaction.isAborted) return this.#rollBack(this.#transaction.result);
      next = batches.next();
      if (!next.done) reading = awaitLater(this.#read(next.value, state));
      await this.#send(await sendEntries(this.#connection, result));
      if (result.sites.has(systemSite)) await runStatements(this.#connection, recordRestrictions(result.entries));
      for (const site of result.sites) this.changedSites.add(site);
    }
    return this.#commit(locked.sites);
  }

  /** Waits if the database is falling behind. */
  async #send(sent: readonly Promise<unknown>[]): Promise<void> {
    this.#sent.push(awaitLater(awaitAll(sent)));
    while (this.#sent.length > maxSent) await this.#sent.shift();
    this.#progress.restartTimeLimit();
    await nextImmediate();
  }

  /** Reads a batch's rows and returns its state. @param before the previous batch's state, whose rows may not have been sent yet */
  async #read(intents: readonly Intent[], before: BatchState): Promise<BatchState> {
    const { authorization, records, responses, sites } = keysOfBatch(intents);
    if (responses.length > 0 || !sites.every((site) => before.sites.has(site)))
      throw new Error("all batches of a transaction must be for one site, without idempotency keys of their own");
    const rows = this.#before ? before.rows : new BatchRows();
    const unknown: (typeof records)[number][] = [];
    for (const key of [...authorization.map((row) => ({ site_id: systemSite, ...row })), ...records]) {
      const known = before.rows.find(key.site_id, key.resource, key.id);
      if (!known) unknown.push(key);
      else if (rows !== before.rows) rows.add({ ...known });
    }
    const found = unknown.length === 0 ? [] : await this.#connection.query(sql.rowsByKeys("records"), unknown);
    for (const row of found) rows.add(row as BatchRow);
    return { ...before, rows };
  }

  async #commit(sites: BatchState["sites"]): Promise<AtomicCommitResult> {
    const response = this.#transaction.toResponse();
    const { last, sent } = await sendStatements(this.#connection, storeEnd(sites, this.changedSites, response));
    await commitTransaction(this.#connection, this.#progress, last, [...this.#sent, ...sent]);
    return this.#transaction.result;
  }

  async #rollBack(result: AtomicCommitResult): Promise<AtomicCommitResult> {
    await this.#connection.script("rollback");
    return result;
  }
}

function* storeEnd(
  sites: BatchState["sites"],
  changed: ReadonlySet<number>,
  response: ResponseRow | undefined,
): Transaction<void> {
  yield* storeSites(sites, changed);
  if (response) yield upsert("idempotency", [response]);
}

/**
 * Stores the results of a batch of one site, without waiting. Usually, only the journal entries are sent, since the records follow from them. That
 * doesn't work if a record has several entries, or was created again.
 */
async function sendEntries(connection: PostgresConnection, result: BatchResult): Promise<readonly Promise<unknown>[]> {
  const { entries, rows, newRows, newSites, responses } = result;
  const [first, last] = [entries[0], entries.at(-1)];
  const created = entries.filter(({ operation }) => operation === "create").length;
  const isUsual = rows.size === entries.length && newRows.size === created && newSites.length + responses.length === 0;
  if (!first || !last || !isUsual) return (await sendStatements(connection, storeRows(result))).sent;
  const range = { site: first.site_id, first: first.revision, last: last.revision };
  return [
    insertEntries(connection, entries),
    ...(created > 0 ? [connection.script(sql.recordsOfEntries(range, "new"))] : []),
    ...(created < entries.length ? [connection.script(sql.recordsOfEntries(range, "old"))] : []),
  ];
}

function insertEntries(connection: PostgresConnection, entries: readonly JournalRow[]): Promise<unknown> {
  const [{ site_id, at, actor, run }] = entries as readonly [JournalRow];
  const isSimilar = (entry: JournalRow) => entry.at === at && entry.actor === actor && entry.run === run;
  if (run === null || !entries.every(isSimilar)) return connection.query(sql.insertInto("journal"), entries);
  const numbers = (["revision", "id"] as const).map((column) => `{${entries.map((entry) => entry[column])}}`);
  const texts = (["resource", "operation", "body", "before"] as const).map((column) =>
    entries.map((entry) => entry[column] ?? "").join(separator),
  );
  return connection.query(sql.insertSimilarEntries, site_id, at, actor, run, ...numbers, ...texts);
}

/** Neither names nor JSON contain this character, `chr(30)` in statements. */
const separator = "\x1e";

// The rows of a run's intents are looked up before the transaction that locks the site, so that other writers don't wait for it.

/** Maximum changes by others between the look-up and the transaction. If there are more, the transaction looks up the rows itself. */
const maxChanges = 2000;

interface RowsBefore {
  readonly site: number;
  /** The site's head at the time of the look-up. */
  readonly head: { readonly revision: number; readonly epoch: string };
  readonly rows: readonly BatchRow[];
}

/** Looks up the rows of `batches`, as of one moment. Returns undefined if they need none, or if the site was never written to. */
async function readRowsBefore(
  connection: PostgresConnection,
  batches: readonly (readonly Intent[])[],
): Promise<RowsBefore | undefined> {
  const keys = batches.map((intents) => keysOfBatch(intents).records).filter(({ length }) => length > 0);
  const site = keys[0]?.[0]?.site_id;
  if (site === undefined) return undefined;
  const [sites, found] = await awaitAll<[ResultRow[][], ResultRow[][], unknown]>([
    connection.script(sql.beginReadByKeys(site)),
    awaitAll(keys.map((some) => connection.query(sql.rowsByKeys("records"), some))),
    connection.script(sql.endRead),
  ]);
  const row = sites[0]?.[0];
  return row && { site, head: { revision: row.revision, epoch: row.epoch }, rows: found.flat() as BatchRow[] };
}

/**
 * In a transaction that has locked the site, reads the changes since the look-up and adds the updated rows to its state. Adds nothing if the epoch is
 * different, or if the changes are too many or were pruned.
 */
async function addRowsBefore(
  connection: PostgresConnection,
  { site, head, rows }: RowsBefore,
  state: BatchState,
): Promise<void> {
  const { revision, epoch } = state.sites.get(site) as SiteState;
  const count = revision - head.revision;
  if (epoch !== head.epoch || count < 0 || count > maxChanges) return;
  const since = { site, revision: head.revision, limit: maxChanges };
  const [changes = []] = count > 0 ? await connection.script(sql.lastChanges(since)) : [];
  if (changes.length !== count) return;
  for (const row of rows) state.rows.add(row);
  for (const { resource, id, revision: last, operation, body } of changes.toReversed() as RecordChange[]) {
    const row = state.rows.find(site, resource, id);
    if (row) Object.assign(row, { revision: last, body: operation === "delete" ? null : body });
  }
}
