// The write side of the SQLite engine: one connection, one transaction per batch.

import type { Database, Statement } from "bun:sqlite";
import type { Head, RecordCounts } from "../../model/engine.ts";
import type { Intent, Outcome, StoredRow } from "../../model/intent.ts";
import {
  decideBatch,
  newSite,
  responseKey,
  rowKey,
  type SiteState,
  type Stored,
  type StoredResponse,
  type Written,
} from "../batch.ts";
import { readCounts, type StoredCounts, writeCounts } from "../record-counts.ts";
import { removedEpoch, selectDeleted, siteTables } from "../removed-sites.ts";
import { inTransaction, openDatabase, translated, version } from "./database.ts";
import { requireSameFiles } from "./files.ts";
import { deletePortion } from "./portions.ts";
import type { WorkerStart } from "./worker.ts";

export interface Writer {
  commit(intents: readonly Intent[], atomic?: boolean): readonly Outcome[];
  tryWrite(): void;
  /** Returns whether there may be more. */
  deleteExpiredResponses(before: number, most: number): boolean;
  noteKeyUse(uses: ReadonlyMap<number, number>): void;
  noteCounts(site: number, head: Head, counts: RecordCounts): void;
  /** Closes the site, if its record was deleted, to writes and deletes a portion of its rows. Returns whether there may be more. */
  dropPortion(site: number): boolean;
  close(): void;
}

/** Opens the write side of the database at `path`, whose tables exist and which has `files` open. */
export function openWriter({ path, files, busyTimeout }: WorkerStart): Writer {
  requireSameFiles(files);
  const database = openDatabase(path, busyTimeout);
  const sql = statements(database);

  /** The second check decides: a write is confirmed only if the files still existed after its commit. */
  function transact<T>(work: () => T): T {
    requireSameFiles(files);
    const result = translated(() => inTransaction(database, work));
    requireSameFiles(files);
    return result;
  }

  return {
    commit: (intents, atomic) =>
      transact(() => {
        const stored = fetch(sql, intents);
        const written = decideBatch(intents, stored, atomic);
        write(sql, stored, written);
        return written.outcomes;
      }),
    // The same version number again: the smallest possible commit, of the first page.
    tryWrite: () => transact(() => database.run(`pragma user_version = ${version(database)}`)),
    deleteExpiredResponses: (before, most) => {
      // A look needs no lock; an empty transaction would.
      if (!translated(() => sql.expired.get(before))) return false;
      return transact(() => sql.forget.run(before, most).changes === most);
    },
    noteKeyUse: (uses) => transact(() => uses.forEach((at, keyId) => void sql.noteUse.run(keyId, at))),
    noteCounts: (site, { epoch, revision }, counts) =>
      transact(() => void sql.putCounts.run(writeCounts(revision, counts).live, site, epoch, revision)),
    dropPortion: (site) =>
      transact(() => {
        if (!sql.deleted.get(site)) return false;
        sql.putSite.run(site, removedEpoch, 0, "{}", null);
        return siteTables.some((table) => deletePortion(database, table, site) > 0);
      }),
    close: () => database.close(),
  };
}

type Statements = ReturnType<typeof statements>;

function statements(database: Database) {
  const query = (text: string): Statement => database.query(text);
  return {
    site: query("select epoch, revision, counters, live, live_revision from sites where id = ?"),
    row: query("select revision, body from records where site_id = ? and resource = ? and id = ?"),
    response: query(
      "select digest, at, operation, id, revision, body from idempotency where site_id = ? and key_id = ? and name = ?",
    ),
    deleted: query(selectDeleted("?")),
    putSite:
      query(`insert into sites (id, epoch, revision, counters, live, live_revision) values (?1, ?2, ?3, ?4, ?5, ?3)
on conflict (id) do update set epoch = ?2, revision = ?3, counters = ?4, live = ?5, live_revision = ?3`),
    putCounts: query("update sites set live = ?1, live_revision = ?4 where id = ?2 and epoch = ?3 and revision = ?4"),
    putRow: query("insert or replace into records (site_id, resource, id, revision, body) values (?, ?, ?, ?, ?)"),
    putChange: query(
      "insert into journal (site_id, revision, at, actor, resource, id, operation, body) values (?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    putResponse: query(
      "insert or replace into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    expired: query("select 1 from idempotency where at <= ? limit 1"),
    forget: query(
      "delete from idempotency where (site_id, key_id, name) in (select site_id, key_id, name from idempotency where at <= ? order by at limit ?)",
    ),
    noteUse: query(
      "insert into key_uses (key_id, at) values (?, ?) on conflict (key_id) do update set at = max(at, excluded.at)",
    ),
  };
}

function fetch(sql: Statements, intents: readonly Intent[]): Stored {
  const stored: Stored = { sites: new Map(), rows: new Map(), responses: new Map() };
  for (const { site, resource, id, idempotency } of intents) {
    if (!stored.sites.has(site)) stored.sites.set(site, fetchSite(sql, site));
    if (id !== undefined) {
      const row = sql.row.get(site, resource, id) as StoredRow | null;
      if (row) stored.rows.set(rowKey(site, resource, id), row);
    }
    if (idempotency) {
      const response = sql.response.get(site, idempotency.keyId, idempotency.name) as StoredResponse | null;
      if (response) stored.responses.set(responseKey(site, idempotency.keyId, idempotency.name), response);
    }
  }
  return stored;
}

function fetchSite(sql: Statements, site: number): SiteState {
  const row = sql.site.get(site) as (StoredCounts & { epoch: string; counters: string }) | null;
  if (!row) return newSite();
  const { epoch, revision, counters } = row;
  return { epoch, revision, counters: JSON.parse(counters), counts: readCounts(row) };
}

function write(sql: Statements, stored: Stored, written: Written): void {
  for (const { site, resource, id, revision, operation, body, at, actor } of written.changes) {
    sql.putRow.run(site, resource, id, revision, operation === "delete" ? null : body);
    sql.putChange.run(site, revision, at, actor, resource, id, operation, body);
  }
  for (const { site, keyId, name, digest, at, operation, id, revision, body } of written.responses) {
    sql.putResponse.run(site, keyId, name, digest, at, operation, id, revision, body);
  }
  for (const site of written.sites) {
    const { epoch, revision, counters, counts } = stored.sites.get(site) as SiteState;
    sql.putSite.run(site, epoch, revision, JSON.stringify(counters), writeCounts(revision, counts).live);
  }
}
