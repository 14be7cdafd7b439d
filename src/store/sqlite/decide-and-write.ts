// Decides batches and stores their results, in transactions that the callers have begun; and the statements for this.

import type { Database } from "bun:sqlite";
import type { Intent, Outcome, RecordChange } from "../../model/change.ts";
import { systemSite } from "../../model/system-site.ts";
import { recordChangeColumns } from "../database/journal.ts";
import { recordRestrictions } from "../database/restrictions.ts";
import { newSiteState, type SiteState, toSiteRow, toSiteState } from "../database/site-state.ts";
import type { TableName, TableRow } from "../database/tables.ts";
import {
  type BatchKeys,
  type BatchResult,
  type BatchState,
  decideBatch,
  emptyBatchState,
  keysOfBatch,
  responseKey,
} from "../writes/batch.ts";
import type { BatchRow, StoredResponse } from "../writes/batch-rows.ts";
import type { BatchTransaction } from "../writes/batch-transaction.ts";
import { insertStatement, runStatements, selectStatement, upsertStatement } from "./transaction.ts";

/** Decides intents and stores the results, in a transaction that the caller has begun. */
export function decideAndWrite(
  sql: WriterStatements,
  intents: readonly Intent[],
  transaction: BatchTransaction,
  atomic?: boolean,
): readonly Outcome[] {
  const { outcomes, entries, sites } = decideAndStore(sql, intents, transaction, atomic);
  if (sites.has(systemSite)) sql.recordRestrictions(entries);
  return outcomes;
}

/** Does the same without recording restrictions. */
export function decideAndStore(
  sql: WriterStatements,
  intents: readonly Intent[],
  transaction: BatchTransaction,
  atomic?: boolean,
): BatchResult {
  const state = readBatchState(sql, intents, transaction);
  const result = decideBatch(intents, state, atomic);
  write(sql, state, result);
  return result;
}

/** Reads the rows that `intents` may change, and the changes since the writers of upserts found their records. */
function readBatchState(sql: WriterStatements, intents: readonly Intent[], transaction: BatchTransaction): BatchState {
  const state = emptyBatchState(sql.epoch.get(systemSite)?.epoch ?? "", transaction);
  const keys = keysOfBatch(intents);
  for (const site of keys.sites) state.sites.set(site, readSiteState(sql, site));
  const readRows = (records: BatchKeys["records"]) => {
    for (const key of records) {
      const row = state.rows.find(key.site_id, key.resource, key.id) ? null : sql.row.get(key);
      if (row) state.rows.add({ ...key, ...row });
    }
  };
  readRows(keys.authorization.map((row) => ({ site_id: systemSite, ...row })));
  readRows(keys.records);
  for (const key of keys.responses) {
    const response = sql.response.get(key);
    if (response) state.responses.set(responseKey(key.site_id, key.key_id, key.name), response);
  }
  const { presentMatches } = transaction;
  for (const part of presentMatches.entriesToRead(intents)) {
    const { site, revision, limit } = part;
    const last = (state.sites.get(site) as SiteState).revision;
    presentMatches.add(intents, part, last > revision ? sql.changes.all(site, revision, limit) : [], last);
  }
  readRows(presentMatches.recordsToRead(intents, state.rows));
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

export type WriterStatements = ReturnType<typeof writerStatements>;

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
    site: database.query<TableRow<"sites">, [SqliteRow]>(selectStatement("sites")),
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
    recordRestrictions: (entries: BatchResult["entries"]) => runStatements(database, recordRestrictions(entries)),
    expiredResponse: database.query<unknown, [number]>("select 1 from idempotency where at <= ? limit 1"),
    deleteExpired: database.query<never, [number, number]>(
      "delete from idempotency where (site_id, key_id, name) in (select site_id, key_id, name from idempotency where at <= ? order by at limit ?)",
    ),
  };
}
