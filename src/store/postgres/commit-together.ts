// Commits several batches of one site in one transaction (`Engine.commitAtomically`), for which other writers of the site wait.
//
// The database and this process work at the same time. The first round trip begins, locks the site and reads the rows of the first batch. After a batch
// was decided, two things are sent and not awaited: the look-up of the rows of the next batch, and then the rows to store. So the look-up does not see
// these rows, and the next batch takes them from the state of the decided batch. The state of the site stays in this process until the commit.

import { nextImmediate } from "../../lib/yielding.ts";
import type { Intent } from "../../model/change.ts";
import type { OnOutcomes, TogetherOptions, TogetherResult } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
import { type BatchState, decideBatch, keysOfBatch } from "../writes/batch.ts";
import { type BatchRow, BatchRows } from "../writes/batch-rows.ts";
import { BatchTransaction } from "../writes/batch-transaction.ts";
import { addEntries, lockAndRead, sendRows, sendSites } from "./commit.ts";
import type { PostgresConnection } from "./connection.ts";
import type { CallProgress, Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { awaitAll, commitTransaction } from "./transaction.ts";

/** Maximum batches whose rows were sent, and are not stored yet. */
const maxSent = 2;

/** Implements `Engine.commitAtomically`. If the transaction conflicts with another one, it fails. @param timeoutMs as for `commitBatch` */
export function commitTogether(
  pool: Pool,
  timeoutMs: number,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: OnOutcomes,
  options: TogetherOptions = {},
): Promise<TogetherResult> {
  return pool.commit(async (connection, progress) => {
    using transaction = new BatchTransaction(options, options.run === undefined);
    const open = new OpenTransaction(connection, progress, transaction);
    return open.commit(`${sql.beginByKeys(timeoutMs)}; `, batches[Symbol.iterator](), onOutcomes);
  });
}

class OpenTransaction {
  readonly #connection: PostgresConnection;
  readonly #progress: CallProgress;
  readonly #transaction: BatchTransaction;
  /** The results of the rows that were sent, by batch. */
  readonly #sent: Promise<unknown>[] = [];
  readonly #changedSites = new Set<number>();

  constructor(connection: PostgresConnection, progress: CallProgress, transaction: BatchTransaction) {
    this.#connection = connection;
    this.#progress = progress;
    this.#transaction = transaction;
  }

  /** Runs the whole transaction. @param begin statements that begin it */
  async commit(begin: string, batches: Iterator<readonly Intent[]>, onOutcomes: OnOutcomes): Promise<TogetherResult> {
    let next = batches.next();
    if (next.done && !this.#transaction.responseKey) return this.#transaction.result;
    const locked = await lockAndRead(this.#connection, next.done ? [] : next.value, this.#transaction, begin);
    const replay = this.#transaction.findReplay(locked.answer);
    if (replay) return this.#rollBack(replay);
    for (let state = locked.state; !next.done; ) {
      const intents = next.value;
      const result = decideBatch(intents, state, true);
      await onOutcomes(result.outcomes);
      if (this.#transaction.isAborted) return this.#rollBack(this.#transaction.result);
      next = batches.next();
      const reading = next.done ? undefined : handled(this.#readNext(next.value, state));
      await this.#send(sendRows(this.#connection, result));
      for (const site of result.sites) this.#changedSites.add(site);
      if (next.done || !reading) break;
      state = await reading;
      // Sent after the rows of the batch before, so that it sees their entries.
      await addEntries(this.#connection, next.value, this.#transaction, state.sites);
    }
    return this.#commit(locked.state.sites);
  }

  /** Keeps the results of a batch that was sent. Waits if the database is behind. */
  async #send(sent: readonly Promise<unknown>[]): Promise<void> {
    this.#sent.push(handled(awaitAll(sent)));
    while (this.#sent.length > maxSent) await this.#sent.shift();
    this.#progress.restartTimeLimit();
    await nextImmediate();
  }

  /** Reads the rows of the next batch. Returns its state. @param before the state of the batch before it, which was decided and not sent */
  async #readNext(intents: readonly Intent[], before: BatchState): Promise<BatchState> {
    const { authorization, records, responses, sites } = keysOfBatch(intents);
    if (responses.length > 0 || !sites.every((site) => before.sites.has(site)))
      throw new Error("the batches of a transaction belong to one site, and have no idempotency keys of their own");
    const rows = new BatchRows();
    const unknown: (typeof records)[number][] = [];
    for (const key of [...authorization.map((row) => ({ site_id: systemSite, ...row })), ...records]) {
      const known = before.rows.find(key.site_id, key.resource, key.id);
      if (known) rows.add({ ...known });
      else unknown.push(key);
    }
    const found = unknown.length === 0 ? [] : await this.#connection.query(sql.records, unknown);
    for (const row of found) rows.add(row as BatchRow);
    return { ...before, rows };
  }

  async #commit(sites: BatchState["sites"]): Promise<TogetherResult> {
    const response = this.#transaction.toResponse();
    await commitTransaction(this.#connection, this.#progress, "", [
      ...this.#sent,
      ...sendSites(this.#connection, sites, this.#changedSites),
      ...(response ? [this.#connection.query(sql.upsertResponses, [response])] : []),
    ]);
    return this.#transaction.result;
  }

  async #rollBack(result: TogetherResult): Promise<TogetherResult> {
    await this.#connection.script("rollback");
    return result;
  }
}

/** Returns `result`. Its failure is thrown when it is awaited; without this handler, it would be an unhandled rejection until then. */
function handled<T>(result: Promise<T>): Promise<T> {
  result.catch(() => {});
  return result;
}
