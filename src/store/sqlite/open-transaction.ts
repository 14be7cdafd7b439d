// A transaction of several batches, on the connection of the writer (writer.ts).

import type { Database } from "bun:sqlite";
import type { Intent, Outcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult } from "../../model/engine.ts";
import { unavailableError } from "../../model/errors.ts";
import { BatchTransaction } from "../writes/batch-transaction.ts";
import { decideAndWrite, type WriterStatements } from "./decide-and-write.ts";

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
  readonly #sql: WriterStatements;
  readonly #shared: BatchTransaction;
  readonly #replay: AtomicCommitResult | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** Begins the transaction. Reads whether an earlier one had the same idempotency key. */
  constructor(database: Database, sql: WriterStatements, options: AtomicCommitOptions) {
    this.#database = database;
    this.#sql = sql;
    this.#shared = new BatchTransaction(options);
    database.run("begin immediate");
    database.run(`pragma cache_size = ${largeCache}`);
    try {
      const key = this.#shared.responseKey;
      this.#replay = key && this.#shared.findReplay(sql.response.get(key));
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Decides a batch and stores its results. Returns no outcomes if the batch is skipped. */
  add(intents: readonly Intent[]): readonly Outcome[] {
    if (this.#replay || this.#failure || this.#shared.isAborted) return [];
    try {
      this.#requireTransaction();
      return decideAndWrite(this.#sql, intents, this.#shared, true);
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
    if (response) this.#sql.upsertResponse.run(response);
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
export function endedEarlyError(): Error {
  return unavailableError("the transaction of several batches has ended early; nothing of it is stored");
}
