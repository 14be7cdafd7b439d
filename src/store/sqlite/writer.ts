// The write side of the SQLite engine, in the writer thread. It has one connection and a transaction per batch; transactions of several batches start
// with `beginBatches`.

import { type Database, SQLiteError } from "bun:sqlite";
import type { Intent, Outcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult } from "../../model/engine.ts";
import { unavailableError } from "../../model/errors.ts";
import { transactionOf } from "../database/operations.ts";
import { findByKeys, upsert } from "../database/transaction.ts";
import type { StoredResponse } from "../writes/batch-rows.ts";
import { BatchTransaction } from "../writes/batch-transaction.ts";
import { commitBatch } from "../writes/commit-batch.ts";
import { openDatabase } from "./database.ts";
import { withSqliteErrors } from "./errors.ts";
import { createCommitCheck } from "./files.ts";
import type { OperationCall, WriterStart } from "./messages.ts";
import { version } from "./migrate.ts";
import { executeStatement, runInTransaction, runStatements } from "./transaction.ts";

export class Writer {
  readonly #requireUnreplaced: () => void;
  readonly #database: Database;
  /** The current transaction of several batches. */
  #open: OpenTransaction | undefined;
  /** Set while a large transaction's checkpoint is postponed. */
  #checkpointTimer: ReturnType<typeof setTimeout> | undefined;

  /** Opens another connection. The read side has created the tables and has `files` open. */
  constructor({ path, files, busyTimeoutMs }: WriterStart) {
    this.#requireUnreplaced = createCommitCheck(files);
    this.#requireUnreplaced();
    this.#database = openDatabase(path, busyTimeoutMs);
  }

  commit(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    const batch = commitBatch(intents, new BatchTransaction(), { atomic });
    return this.#transact(() => runStatements(this.#database, batch).outcomes);
  }

  /** Starts a transaction of several batches. Until `endBatches`, only call `addBatch`. */
  beginBatches(options: AtomicCommitOptions): void {
    this.#requireUnreplaced();
    // If one large transaction follows another, the log mustn't keep growing.
    if (this.#checkpointTimer) this.#checkpoint();
    this.#open = withSqliteErrors(() => new OpenTransaction(this.#database, options));
  }

  addBatch(intents: readonly Intent[]): readonly Outcome[] {
    return withSqliteErrors(() => this.#requireOpen().add(intents));
  }

  endBatches(shouldCommit: boolean): AtomicCommitResult {
    if (!this.#open && !shouldCommit) return { kind: "aborted" };
    const open = this.#requireOpen();
    this.#open = undefined;
    if (open.size >= largeSize) this.#postponeCheckpoint();
    const result = withSqliteErrors(() => open.end(shouldCommit));
    this.#requireUnreplaced();
    return result;
  }

  /** So that writers who've waited for the transaction don't have to wait for its pages to be moved to the database file, too. */
  #postponeCheckpoint(): void {
    this.#database.run("pragma wal_autocheckpoint = 0");
    this.#checkpointTimer = setTimeout(() => this.#checkpoint(), checkpointDelayMs);
  }

  /** If this fails, nothing is lost, and the next commit tries again. */
  #checkpoint(): void {
    clearTimeout(this.#checkpointTimer);
    this.#checkpointTimer = undefined;
    this.#database.run(`pragma wal_autocheckpoint = ${usualCheckpoint}`);
    try {
      this.#database.query("pragma wal_checkpoint(passive)").get();
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error;
    }
  }

  /** Commits the smallest possible write: the same schema version again, on the first page. */
  probeWrite(): void {
    this.#transact(() => this.#database.run(`pragma user_version = ${version(this.#database)}`));
  }

  /** Runs operations in order, in one transaction. Returns their results. */
  execute(calls: readonly OperationCall[]): readonly unknown[] {
    return this.#transact(() =>
      calls.map(({ name, args, now }) => runStatements(this.#database, transactionOf(name, args), now)),
    );
  }

  /** Deletes up to `most` responses stored at `before` (milliseconds since 1970) or earlier. Returns whether there may be more. */
  deleteExpiredResponses(before: number, most: number): boolean {
    // A transaction needs the write lock even if it deletes nothing; a query doesn't.
    const expired = this.#database.query("select 1 from idempotency where at <= ? limit 1");
    if (!withSqliteErrors(() => expired.get(before))) return false;
    const some = "select site_id, key_id, name from idempotency where at <= ? order by at limit ?";
    const deletion = this.#database.query(`delete from idempotency where (site_id, key_id, name) in (${some})`);
    return this.#transact(() => deletion.run(before, most).changes === most);
  }

  close(): void {
    clearTimeout(this.#checkpointTimer);
    this.#database.close();
  }

  /** There's no transaction if the thread was restarted while batches were in flight. */
  #requireOpen(): OpenTransaction {
    if (!this.#open) throw endedEarlyError();
    return this.#open;
  }

  /** Checks the files before and after: a write is only acknowledged if they were still in place after its commit. */
  #transact<T>(work: () => T): T {
    this.#requireUnreplaced();
    const result = withSqliteErrors(() => runInTransaction(this.#database, work));
    this.#requireUnreplaced();
    return result;
  }
}

/**
 * Memory for database pages in KiB, which SQLite takes as a negative number. With the usual size, the pages changed by a long transaction would be
 * written to the log, read and written again, while other writers wait.
 */
const [largeCache, usualCache] = [-32_768, -2000];

/** Pages in the log from which a commit moves them to the database file. This is SQLite's default. */
const usualCheckpoint = 1000;

/** Writes from which a transaction's checkpoint is postponed. They change about 1,000 pages, which take 10 ms to move. */
const largeSize = 4000;

/** How long it's postponed, so that the writers who've waited get their turn first. */
const checkpointDelayMs = 10;

/**
 * A transaction of several batches. The caller may send all of them and the end before it knows any outcomes. So after a rejection, a failure or a
 * replay, further batches are skipped, and the end rolls back.
 */
export class OpenTransaction {
  readonly #database: Database;
  readonly #shared: BatchTransaction;
  readonly #replay: AtomicCommitResult | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** The number of intents decided. */
  size = 0;

  /** Begins the transaction, and looks for an earlier one with the same idempotency key. */
  constructor(database: Database, options: AtomicCommitOptions) {
    this.#database = database;
    this.#shared = new BatchTransaction(options);
    database.run("begin immediate");
    database.run(`pragma cache_size = ${largeCache}`);
    try {
      const key = this.#shared.responseKey;
      const [response] = key ? executeStatement(database, findByKeys("idempotency", [key])) : [];
      this.#replay = this.#shared.findReplay(response as unknown as StoredResponse | undefined);
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Decides a batch and stores its results. Returns no outcomes if it's skipped. */
  add(intents: readonly Intent[]): readonly Outcome[] {
    if (this.#replay || this.#failure || this.#shared.isAborted) return [];
    try {
      this.#requireTransaction();
      this.size += intents.length;
      return runStatements(this.#database, commitBatch(intents, this.#shared, { atomic: true })).outcomes;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Commits, or rolls back if there's nothing to store. @throws the error of a batch that failed */
  end(shouldCommit: boolean): AtomicCommitResult {
    try {
      return this.#end(shouldCommit);
    } finally {
      if (this.#database.inTransaction) this.#database.run("rollback");
      this.#database.run(`pragma cache_size = ${usualCache}`);
    }
  }

  #end(shouldCommit: boolean): AtomicCommitResult {
    if (!shouldCommit) return { kind: "aborted" };
    if (this.#failure) throw this.#failure.error;
    if (this.#replay) return this.#replay;
    if (this.#shared.isAborted) return this.#shared.result;
    this.#requireTransaction();
    const response = this.#shared.toResponse();
    if (response) executeStatement(this.#database, upsert("idempotency", [response]));
    this.#database.run("commit");
    return this.#shared.result;
  }

  /**
   * Throws if the transaction has ended early, by a full disk (https://sqlite.org/lang_transaction.html) or because the thread ended. Without a
   * transaction, each statement would be committed on its own.
   */
  #requireTransaction(): void {
    if (!this.#database.inTransaction) throw endedEarlyError();
  }
}

function endedEarlyError(): Error {
  return unavailableError("the transaction ended early; none of its batches were stored");
}
