// The write side of the SQLite engine, in the writer thread. It has one connection, and one transaction per batch; a transaction of several batches begins
// with `beginBatches`.

import type { Database } from "bun:sqlite";
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
import { type KnownFile, requireUnreplacedFiles } from "./files.ts";
import type { OperationCall, WriterStart } from "./messages.ts";
import { version } from "./migrate.ts";
import { executeStatement, runInTransaction, runStatements } from "./transaction.ts";

export class Writer {
  readonly #files: readonly KnownFile[];
  readonly #database: Database;
  /** The present transaction of several batches. */
  #open: OpenTransaction | undefined;

  /** Opens another connection to the database at `path`. The read side has created its tables, and has `files` open. */
  constructor({ path, files, busyTimeoutMs }: WriterStart) {
    requireUnreplacedFiles(files);
    this.#files = files;
    this.#database = openDatabase(path, busyTimeoutMs);
  }

  commit(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    const batch = commitBatch(intents, new BatchTransaction(), { atomic });
    return this.#transact(() => runStatements(this.#database, batch).outcomes);
  }

  /** Begins a transaction of several batches. Until `endBatches`, only `addBatch` may be called. */
  beginBatches(options: AtomicCommitOptions): void {
    requireUnreplacedFiles(this.#files);
    this.#open = withSqliteErrors(() => new OpenTransaction(this.#database, options));
  }

  addBatch(intents: readonly Intent[]): readonly Outcome[] {
    return withSqliteErrors(() => this.#requireOpen().add(intents));
  }

  endBatches(shouldCommit: boolean): AtomicCommitResult {
    if (!this.#open && !shouldCommit) return { kind: "aborted" };
    const open = this.#requireOpen();
    this.#open = undefined;
    const result = withSqliteErrors(() => open.end(shouldCommit));
    requireUnreplacedFiles(this.#files);
    return result;
  }

  /** Commits the smallest possible write: it stores the same schema version again, in the first page. */
  probeWrite(): void {
    this.#transact(() => this.#database.run(`pragma user_version = ${version(this.#database)}`));
  }

  /** Executes operations in order, in one transaction. Returns their results. */
  execute(calls: readonly OperationCall[]): readonly unknown[] {
    return this.#transact(() =>
      calls.map(({ name, args, now }) => runStatements(this.#database, transactionOf(name, args), now)),
    );
  }

  /** Deletes at most `most` responses that were stored at `before` (milliseconds since 1970) or earlier. Returns whether more may exist. */
  deleteExpiredResponses(before: number, most: number): boolean {
    // A transaction needs the write lock even if it deletes nothing. A query does not need it.
    const expired = this.#database.query("select 1 from idempotency where at <= ? limit 1");
    if (!withSqliteErrors(() => expired.get(before))) return false;
    const some = "select site_id, key_id, name from idempotency where at <= ? order by at limit ?";
    const deletion = this.#database.query(`delete from idempotency where (site_id, key_id, name) in (${some})`);
    return this.#transact(() => deletion.run(before, most).changes === most);
  }

  close(): void {
    this.#database.close();
  }

  /** Returns the transaction of several batches. It has not begun if the thread was started again while batches were in flight. */
  #requireOpen(): OpenTransaction {
    if (!this.#open) throw endedEarlyError();
    return this.#open;
  }

  /** Runs `work` in a transaction. Checks the files before it, and after its commit: a write is acknowledged only if they were still in place. */
  #transact<T>(work: () => T): T {
    requireUnreplacedFiles(this.#files);
    const result = withSqliteErrors(() => runInTransaction(this.#database, work));
    requireUnreplacedFiles(this.#files);
    return result;
  }
}

/**
 * The memory for pages of the database, in KiB, as SQLite wants it: negative. With the usual size, the changed pages of a long transaction would be
 * written to the log, read and written again while other writers wait.
 */
const [largeCache, usualCache] = [-32_768, -2000];

/**
 * A transaction of several batches, from its begin to its end. The caller may send all batches and the end before it knows the outcome of any. So after
 * a rejected intent, a failure or a replay, further batches are skipped, and the end rolls back.
 */
export class OpenTransaction {
  readonly #database: Database;
  readonly #shared: BatchTransaction;
  readonly #replay: AtomicCommitResult | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** Begins the transaction. Reads whether an earlier one had the same idempotency key. */
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

  /** Decides a batch and stores its results. Returns no outcomes if the batch is skipped. */
  add(intents: readonly Intent[]): readonly Outcome[] {
    if (this.#replay || this.#failure || this.#shared.isAborted) return [];
    try {
      this.#requireTransaction();
      return runStatements(this.#database, commitBatch(intents, this.#shared, { atomic: true })).outcomes;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Commits, or rolls back if nothing is to be stored. @throws the error of a batch that has failed */
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
   * Throws if the transaction has ended early. A full disk ends a transaction (https://sqlite.org/lang_transaction.html), and so does the end of the
   * thread. Without a transaction, each statement would be committed alone.
   */
  #requireTransaction(): void {
    if (!this.#database.inTransaction) throw endedEarlyError();
  }
}

/** The error if no transaction can be continued. */
function endedEarlyError(): Error {
  return unavailableError("the transaction of several batches has ended early; nothing of it is stored");
}
