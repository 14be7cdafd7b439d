// The write side of the SQLite engine: one connection, one transaction per batch.

import type { Database } from "bun:sqlite";
import type { Head, RecordCounts } from "../../model/engine.ts";
import type { Intent, Outcome } from "../../model/intent.ts";
import {
  decideBatch,
  newSite,
  nothingStored,
  type ResponseRow,
  responseKey,
  type SiteState,
  type Stored,
  type StoredResponse,
  type Written,
} from "../batch.ts";
import type { BatchRow, JournalRow } from "../batch-rows.ts";
import { lastAt, putCounts, type StoredTime } from "../journal.ts";
import { createLastBackup, putLastBackup } from "../last-backup.ts";
import { readCounts, type StoredCounts, writeCounts } from "../record-counts.ts";
import { removedEpoch, selectDeleted, siteTables } from "../removed-sites.ts";
import { inTransaction, openDatabase, translated, version } from "./database.ts";
import { type KnownFile, requireSameFiles } from "./files.ts";
import { deletePortion } from "./portions.ts";
import { insert, put, select } from "./statements.ts";
import type { WorkerStart } from "./worker.ts";

export class Writer {
  readonly #files: readonly KnownFile[];
  readonly #database: Database;
  readonly #sql: Statements;

  /** Opens the write side of the database at `path`, whose tables exist and which has `files` open. */
  constructor({ path, files, busyTimeout }: WorkerStart) {
    requireSameFiles(files);
    this.#files = files;
    this.#database = openDatabase(path, busyTimeout);
    this.#sql = statements(this.#database);
  }

  commit(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    return this.#transact(() => this.#decide(intents, atomic));
  }

  /** Begins a transaction of several batches; nothing but `addBatch` and `endBatches` may follow. */
  beginBatches(): void {
    requireSameFiles(this.#files);
    translated(() => this.#database.run("begin immediate"));
  }

  addBatch(intents: readonly Intent[]): readonly Outcome[] {
    return translated(() => this.#decide(intents, true));
  }

  endBatches(isCommitted: boolean): void {
    if (!this.#database.inTransaction) return;
    translated(() => this.#database.run(isCommitted ? "commit" : "rollback"));
    requireSameFiles(this.#files);
  }

  /** Commits the smallest possible change, of the first page: the same version number again. */
  tryWrite(): void {
    this.#transact(() => this.#database.run(`pragma user_version = ${version(this.#database)}`));
  }

  /** Runs `work` in a transaction. */
  transact<T>(work: (database: Database) => T): T {
    return this.#transact(() => work(this.#database));
  }

  /** Returns whether there may be more. */
  deleteExpiredResponses(before: number, most: number): boolean {
    // Unlike an empty transaction, a look needs no lock.
    if (!translated(() => this.#sql.expiredResponse.get(before))) return false;
    return this.#transact(() => this.#sql.deleteExpired.run(before, most).changes === most);
  }

  noteKeyUse(uses: ReadonlyMap<number, number>): void {
    this.#transact(() => {
      for (const [key_id, at] of uses) this.#sql.noteUse.run({ key_id, at });
    });
  }

  /** Stores the counts of a site, unless its head is another one by now. */
  noteCounts(id: number, { epoch, revision }: Head, counts: RecordCounts): void {
    this.#transact(() => this.#sql.setCounts.run({ id, epoch, revision, live: writeCounts(revision, counts).live }));
  }

  noteBackup(at: number): void {
    this.#transact(() => {
      this.#database.run(createLastBackup);
      this.#database.run(putLastBackup(at));
    });
  }

  /** Closes a site whose record is deleted to writes, and deletes a portion of its rows. Returns whether there may be more. */
  dropPortion(id: number): boolean {
    return this.#transact(() => {
      if (!this.#sql.deletedSite.get(id)) return false;
      this.#sql.putSite.run(toRow(id, { ...newSite(), epoch: removedEpoch }));
      return siteTables.some((table) => deletePortion(this.#database, table, id) > 0);
    });
  }

  close(): void {
    this.#database.close();
  }

  #decide(intents: readonly Intent[], atomic?: boolean): readonly Outcome[] {
    const stored = fetch(this.#sql, intents);
    const written = decideBatch(intents, stored, atomic);
    write(this.#sql, stored, written);
    return written.outcomes;
  }

  /** The second check decides: a write is confirmed only if the files still existed after its commit. */
  #transact<T>(work: () => T): T {
    requireSameFiles(this.#files);
    const result = translated(() => inTransaction(this.#database, work));
    requireSameFiles(this.#files);
    return result;
  }
}

type Statements = ReturnType<typeof statements>;

type Row = Record<string, string | number | null>;

/** Stores a row, whose members are the parameters. */
interface RowStatement<T> {
  run(row: T): unknown;
}

function statements(database: Database) {
  const run = <T extends object = Row>(text: string) => database.query<never, [T & Row]>(text) as RowStatement<T>;
  return {
    site: database.query<StoredSite, [Row]>(select("sites")),
    row: database.query<Pick<BatchRow, "revision" | "body">, [Row]>(select("records", ["revision", "body"])),
    response: database.query<StoredResponse, [Row]>(select("idempotency")),
    putSite: run(put("sites")),
    setCounts: run(putCounts({ live: "$live", site: "$id", epoch: "$epoch", revision: "$revision" })),
    lastAt: database.query<{ at: number }, [Row]>(select("journal", ["at"])),
    putRow: run<BatchRow>(put("records")),
    addChange: run<JournalRow>(insert("journal")),
    putResponse: run<ResponseRow>(put("idempotency")),
    noteUse: run(`${put("key_uses")} where excluded.at > at`),
    deletedSite: database.query<unknown, [number]>(selectDeleted("?")),
    expiredResponse: database.query<unknown, [number]>("select 1 from idempotency where at <= ? limit 1"),
    deleteExpired: database.query<never, [number, number]>(
      "delete from idempotency where (site_id, key_id, name) in (select site_id, key_id, name from idempotency where at <= ? order by at limit ?)",
    ),
  };
}

function fetch(sql: Statements, intents: readonly Intent[]): Stored {
  const stored = nothingStored();
  for (const { site, resource, id, idempotency } of intents) {
    if (!stored.sites.has(site)) stored.sites.set(site, fetchSite(sql, site));
    if (id !== undefined) {
      const row = stored.rows.get(site, resource, id) ? null : sql.row.get({ site_id: site, resource, id });
      if (row) stored.rows.add({ site_id: site, resource, id, ...row });
    }
    if (idempotency) {
      const { keyId, name } = idempotency;
      const response = sql.response.get({ site_id: site, key_id: keyId, name });
      if (response) stored.responses.set(responseKey(site, keyId, name), response);
    }
  }
  return stored;
}

interface StoredSite extends StoredCounts, StoredTime {
  readonly epoch: string;
  /** JSON text. */
  readonly counters: string;
  readonly floor: number | null;
}

function fetchSite(sql: Statements, id: number): SiteState {
  const row = sql.site.get({ id });
  if (!row) return newSite();
  const { epoch, revision, counters, floor } = row;
  const last_at = lastAt(row) ?? sql.lastAt.get({ site_id: id, revision })?.at ?? 0;
  return { epoch, revision, counters: JSON.parse(counters), counts: readCounts(row), floor, last_at };
}

function toRow(id: number, { epoch, revision, counters, counts, floor, last_at }: SiteState): Row {
  return { id, epoch, revision, counters: JSON.stringify(counters), floor, last_at, ...writeCounts(revision, counts) };
}

function write(sql: Statements, { sites }: Stored, written: Written): void {
  for (const change of written.changes) sql.addChange.run(change);
  for (const row of written.rows) sql.putRow.run(row);
  for (const response of written.responses) sql.putResponse.run(response);
  for (const id of written.sites) sql.putSite.run(toRow(id, sites.get(id) as SiteState));
}
