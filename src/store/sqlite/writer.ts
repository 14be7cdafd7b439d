// The write side of the SQLite engine, in the writer thread. It has one connection, and one transaction per batch; a transaction of several batches
// begins with `beginBatches`.

import type { Database } from "bun:sqlite";
import type { Intent, Outcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult } from "../../model/engine.ts";
import { transactionOf } from "../database/operations.ts";
import { BatchTransaction } from "../writes/batch-transaction.ts";
import { openDatabase } from "./database.ts";
import { decideAndWrite, type WriterStatements, writerStatements } from "./decide-and-write.ts";
import { withSqliteErrors } from "./errors.ts";
import { type KnownFile, requireUnreplacedFiles } from "./files.ts";
import type { OperationCall, WriterStart } from "./messages.ts";
import { version } from "./migrate.ts";
import { endedEarlyError, OpenTransaction } from "./open-transaction.ts";
import { runInTransaction, runStatements } from "./transaction.ts";

export class Writer {
  readonly #files: readonly KnownFile[];
  readonly #database: Database;
  readonly #sql: WriterStatements;
  /** The present transaction of several batches. */
  #open: OpenTransaction | undefined;

  /** Opens another connection to the database at `path`. The read side has created its tables, and has `files` open. */
  constructor({ path, files, busyTimeoutMs }: WriterStart) {
    requireUnreplacedFiles(files);
    this.#files = files;
    this.#database = openDatabase(path, busyTimeoutMs);
    this.#sql = writerStatements(this.#database);
  }

  commit(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    return this.#transact(() => decideAndWrite(this.#sql, intents, new BatchTransaction(), atomic));
  }

  /** Begins a transaction of several batches. Until `endBatches`, only `addBatch` may be called. */
  beginBatches(options: AtomicCommitOptions): void {
    requireUnreplacedFiles(this.#files);
    this.#open = withSqliteErrors(() => new OpenTransaction(this.#database, this.#sql, options));
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
    if (!withSqliteErrors(() => this.#sql.expiredResponse.get(before))) return false;
    return this.#transact(() => this.#sql.deleteExpired.run(before, most).changes === most);
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
