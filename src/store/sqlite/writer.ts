// The write side of the SQLite engine, in the writer thread. It has one connection, and one transaction per batch; a transaction of several batches
// begins with `beginBatches`.

import type { Database } from "bun:sqlite";
import type { Intent, Outcome, RecordChange } from "../../model/change.ts";
import { unavailableError } from "../../model/errors.ts";
import { systemSite } from "../../model/system-site.ts";
import { recordChangeColumns } from "../database/journal.ts";
import { transactionOf } from "../database/operations.ts";
import { newSiteState, type SiteState, type StoredSite, toSiteRow, toSiteState } from "../database/site-state.ts";
import type { TableName, TableRow } from "../database/tables.ts";
import {
  type BatchResult,
  type BatchState,
  decideBatch,
  emptyBatchState,
  keysOfBatch,
  responseKey,
  type StoredResponse,
} from "../writes/batch.ts";
import type { BatchRow } from "../writes/batch-rows.ts";
import { ChangesSinceMatch } from "../writes/changes-since-match.ts";
import { openDatabase } from "./database.ts";
import { withSqliteErrors } from "./errors.ts";
import { type KnownFile, requireUnreplacedFiles } from "./files.ts";
import type { OperationCall, WriterStart } from "./messages.ts";
import { version } from "./migrate.ts";
import { insertStatement, runInTransaction, runStatements, selectStatement, upsertStatement } from "./transaction.ts";

export class Writer {
  readonly #files: readonly KnownFile[];
  readonly #database: Database;
  readonly #sql: WriterStatements;
  /** The changes of the present transaction of several batches, for the conditions of its intents (`ifStillMatched`). */
  #changesSinceMatch = new ChangesSinceMatch();

  /** Opens another connection to the database at `path`. The read side has created its tables, and has `files` open. */
  constructor({ path, files, busyTimeoutMs }: WriterStart) {
    requireUnreplacedFiles(files);
    this.#files = files;
    this.#database = openDatabase(path, busyTimeoutMs);
    this.#sql = writerStatements(this.#database);
  }

  commit(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    return this.#transact(() => decideAndWrite(this.#sql, intents, new ChangesSinceMatch(), atomic));
  }

  /** Begins a transaction of several batches. Until `endBatches`, only `addBatch` may be called. */
  beginBatches(): void {
    requireUnreplacedFiles(this.#files);
    withSqliteErrors(() => this.#database.run("begin immediate"));
    this.#changesSinceMatch = new ChangesSinceMatch(true);
  }

  addBatch(intents: readonly Intent[]): readonly Outcome[] {
    this.#requireTransaction();
    return withSqliteErrors(() => decideAndWrite(this.#sql, intents, this.#changesSinceMatch, true));
  }

  endBatches(shouldCommit: boolean): void {
    this.#changesSinceMatch[Symbol.dispose]();
    if (shouldCommit) this.#requireTransaction();
    else if (!this.#database.inTransaction) return;
    withSqliteErrors(() => this.#database.run(shouldCommit ? "commit" : "rollback"));
    requireUnreplacedFiles(this.#files);
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

  /**
   * Throws if the transaction of several batches has ended early, while further batches may be in flight. A full disk ends a transaction
   * (https://sqlite.org/lang_transaction.html), and so does the end of the thread. Without a transaction, each statement would be committed alone.
   */
  #requireTransaction(): void {
    if (this.#database.inTransaction) return;
    throw unavailableError("the transaction of several batches has ended early; nothing of it is stored");
  }

  /** Runs `work` in a transaction. Checks the files before it, and after its commit: a write is acknowledged only if they were still in place. */
  #transact<T>(work: () => T): T {
    requireUnreplacedFiles(this.#files);
    const result = withSqliteErrors(() => runInTransaction(this.#database, work));
    requireUnreplacedFiles(this.#files);
    return result;
  }
}

/** Decides intents and stores the results, in a transaction that the caller has begun. */
export function decideAndWrite(
  sql: WriterStatements,
  intents: readonly Intent[],
  changesSinceMatch: ChangesSinceMatch,
  atomic?: boolean,
): readonly Outcome[] {
  const state = readBatchState(sql, intents, changesSinceMatch);
  const result = decideBatch(intents, state, atomic);
  write(sql, state, result);
  return result.outcomes;
}

/** Reads the rows that `intents` may change, and the entries since their writers found the records (`ifStillMatched`). */
function readBatchState(
  sql: WriterStatements,
  intents: readonly Intent[],
  changesSinceMatch: ChangesSinceMatch,
): BatchState {
  const state = emptyBatchState(sql.epoch.get(systemSite)?.epoch ?? "", changesSinceMatch);
  const keys = keysOfBatch(intents);
  for (const site of keys.sites) state.sites.set(site, readSiteState(sql, site));
  for (const key of [...keys.authorization.map((row) => ({ site_id: systemSite, ...row })), ...keys.records]) {
    const row = state.rows.find(key.site_id, key.resource, key.id) ? null : sql.row.get(key);
    if (row) state.rows.add({ ...key, ...row });
  }
  for (const key of keys.responses) {
    const response = sql.response.get(key);
    if (response) state.responses.set(responseKey(key.site_id, key.key_id, key.name), response);
  }
  for (const part of changesSinceMatch.entriesToRead(intents)) {
    const { site, revision, limit } = part;
    const last = (state.sites.get(site) as SiteState).revision;
    changesSinceMatch.add(intents, part, last > revision ? sql.changes.all(site, revision, limit) : [], last);
  }
  return state;
}

function readSiteState(sql: WriterStatements, id: number): SiteState {
  const row = sql.site.get({ id });
  return row ? toSiteState(row) : newSiteState();
}

/** Stores the results of a batch. */
function write(sql: WriterStatements, { sites }: BatchState, result: BatchResult): void {
  for (const entry of result.entries) sql.insertEntry.run(entry);
  for (const row of result.rows) sql.upsertRecord.run(row);
  for (const response of result.responses) sql.upsertResponse.run(response);
  for (const id of result.newSites) sql.insertSite.run(toSiteRow(id, newSiteState()));
  for (const id of result.sites) sql.upsertSite.run(toSiteRow(id, sites.get(id) as SiteState));
}

// The statements of the writer.

type WriterStatements = ReturnType<typeof writerStatements>;

/** The parameters of a statement. */
type SqliteRow = Record<string, string | number | null>;

/** A statement that stores a row. The members of the row are its parameters. */
interface RowStatement<T extends TableName> {
  run(row: TableRow<T>): unknown;
}

export function writerStatements(database: Database) {
  const storing = <T extends TableName>(table: T, toStatement: (table: T) => string, onConflict = "") =>
    database.query<never, [TableRow<T> & SqliteRow]>(toStatement(table) + onConflict) as RowStatement<T>;
  return {
    site: database.query<StoredSite, [SqliteRow]>(selectStatement("sites")),
    epoch: database.query<{ epoch: string }, [number]>("select epoch from sites where id = ?"),
    row: database.query<Pick<BatchRow, "revision" | "body">, [SqliteRow]>(
      selectStatement("records", ["revision", "body"]),
    ),
    changes: database.query<RecordChange, [number, number, number]>(
      `select ${recordChangeColumns} from journal where site_id = ? and revision > ? order by revision desc limit ?`,
    ),
    response: database.query<StoredResponse, [SqliteRow]>(selectStatement("idempotency")),
    insertSite: storing("sites", insertStatement, " on conflict (id) do nothing"),
    upsertSite: storing("sites", upsertStatement),
    upsertRecord: storing("records", upsertStatement),
    insertEntry: storing("journal", insertStatement),
    upsertResponse: storing("idempotency", upsertStatement),
    expiredResponse: database.query<unknown, [number]>("select 1 from idempotency where at <= ? limit 1"),
    deleteExpired: database.query<never, [number, number]>(
      "delete from idempotency where (site_id, key_id, name) in (select site_id, key_id, name from idempotency where at <= ? order by at limit ?)",
    ),
  };
}
