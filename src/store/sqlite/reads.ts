// The read side of the SQLite engine.
//
// Most reads share one connection on this thread, and check after each read that the database files were not removed or replaced. A large site and a dump
// are read on separate connections: their transaction stays open while other reads and writes continue.

import type { Database } from "bun:sqlite";
import { Semaphore } from "../../lib/concurrency.ts";
import type { Change, JournalEntry } from "../../model/change.ts";
import type { Engine, RecordRow, SiteContents, SiteReadResult } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { findRowInconsistencies } from "../database/consistency-check.ts";
import { changeColumns, contiguousChanges, entryColumns } from "../database/journal.ts";
import { type ExecuteOperation, transactionOf } from "../database/operations.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import { describeLeftoverTables } from "../database/table-swap.ts";
import { columnsOf, type TableRow } from "../database/tables.ts";
import { tableNamesIn } from "./database.ts";
import { dumpRows } from "./dump.ts";
import { fromSqlite, withSqliteErrors } from "./errors.ts";
import { runStatements } from "./transaction.ts";

interface Reader {
  readonly calls: Pick<
    Engine,
    | "readsOnThisThread"
    | "readHeads"
    | "readRecord"
    | "readPage"
    | "readRowsAfter"
    | "readRows"
    | "readSite"
    | "readChangesSince"
    | "readJournalPage"
    | "dump"
    | "findInconsistencies"
  >;
  /** Executes an operation that reads. */
  readonly execute: ExecuteOperation;
}

/** Rows per chunk. A site with at most this number of rows is read as one chunk, on the shared connection. */
const rowsPerChunk = 256;

/** Maximum sites that are read in several chunks at once. Each needs a connection, and memory that `--memory` counts only after the load. */
const maxConcurrentLoads = 4;

/** The rows of a site that was never written to. */
const noHead: Head = { revision: 0, epoch: "" };
const noSite = { ...noHead, counts: "{}", last_ids: "{}", floor: 0 };

/**
 * Creates the read side.
 * @param database the shared connection
 * @param open opens another connection to the same database, for a large site or a dump
 * @param requireUnreplaced throws if the files were removed or replaced; called after each read, and at the end of a large site and of a dump
 */
export function createReader(database: Database, open: () => Database, requireUnreplaced: () => void): Reader {
  const sql = statementsOf(database);
  const loadSemaphore = new Semaphore(maxConcurrentLoads);
  const atOnce = database.transaction((work: () => unknown) => work());

  /** Runs `work`. @throws ProblemError `unavailable`, also if the files were removed or replaced */
  function read<T>(work: () => T): T {
    const result = withSqliteErrors(work);
    requireUnreplaced();
    return result;
  }

  /** Runs `work` in one transaction, so that everything that it reads is from the same moment. @throws as `read` does */
  function readAtOnce<T>(work: () => T): T {
    return read(() => atOnce(work) as T);
  }

  /** Runs `work` in one transaction, with the state of the site in it. */
  function readSite<T>(site: number, requiredHead: Head | undefined, work: (found: SiteReadResult) => T): T {
    return readAtOnce(() => work(toReadResult(sql.site.get(site), requiredHead)));
  }

  function* dump(site?: number) {
    yield* dumpRows(open, { site });
    requireUnreplaced();
  }

  const calls: Reader["calls"] = {
    readsOnThisThread: true,
    // One transaction, so that the heads of a site and of the system site are from the same moment.
    readHeads: async (sites) => readAtOnce(() => sites.map((site) => sql.head.get(site) ?? noHead)),
    readRecord: async (site, resource, id, requiredHead) =>
      readSite(site, requiredHead, (found) => ({
        ...found,
        row: sql.record.get(site, resource, id) ?? undefined,
        system: sql.head.get(systemSite) ?? noHead,
      })),
    readPage: async (site, resource, { limit, offset }, requiredHead) =>
      readSite(site, requiredHead, (found) => ({ ...found, rows: sql.page.all(site, resource, limit, offset) })),
    readRowsAfter: async (site, resource, { after, limit }) =>
      readSite(site, undefined, (found) => ({ ...found, rows: sql.rowsAfter.all(site, resource, after, limit) })),
    readRows: async (site, keys) =>
      readSite(site, undefined, (found) => ({
        ...found,
        lastIds: JSON.parse((sql.site.get(site) ?? noSite).last_ids),
        rows: keys.flatMap(({ resource, id }) => sql.record.get(site, resource, id) ?? []),
      })),
    readSite: async (site, use, requiredHead) => {
      const readStart = (found: SiteReadResult) => ({ ...found, rows: sql.rows.all(site, rowsPerChunk + 1) });
      const { rows, ...found } = readSite(site, requiredHead, readStart);
      if (rows.length <= rowsPerChunk) return use({ ...found, rowChunks: [rows] });
      const readAll = () => readChunks(open(), site, use, requiredHead);
      // The system site does not wait, because all requests need it.
      const result = await (site === systemSite ? readAll() : loadSemaphore.run(readAll));
      requireUnreplaced();
      return result;
    },
    readChangesSince: async (site, revision, options = {}) =>
      readAtOnce(() => {
        const head = sql.head.get(site) ?? noHead;
        requireHeadAtLeast(head, options.requiredHead);
        const changes = sql.since.all(site, revision, options.limit ?? -1);
        return contiguousChanges(changes, head, revision, options);
      }),
    readJournalPage: async (site, revision, limit) =>
      readAtOnce(() => {
        const { epoch, floor, ...last } = sql.site.get(site) ?? noSite;
        return { head: { revision: last.revision, epoch }, floor, entries: sql.entries.all(site, revision, limit) };
      }),
    dump,
    findInconsistencies: async (onRow) =>
      read(() => [
        ...integrity(database),
        ...findRowInconsistencies(dump(), onRow),
        ...describeLeftoverTables(tableNamesIn(database)),
      ]),
  };
  return {
    calls,
    execute: async (name, args) => readAtOnce(() => runStatements(database, transactionOf(name, args))),
  };
}

function statementsOf(database: Database) {
  const record = `select ${columnsOf("records", ["site_id"]).join(", ")} from records where site_id = ?`;
  const entries = "from journal where site_id = ? and revision > ? order by revision limit ?";
  return {
    head: database.query<Head, [number]>("select revision, epoch from sites where id = ?"),
    site: database.query<SiteRow, [number]>("select revision, epoch, counts, last_ids, floor from sites where id = ?"),
    rows: database.query<RecordRow, [number, number]>(`${record} order by resource, id limit ?`),
    record: database.query<RecordRow, [number, string, number]>(`${record} and resource = ? and id = ?`),
    page: database.query<RecordRow, [number, string, number, number]>(
      `${record} and resource = ? and body is not null order by id limit ? offset ?`,
    ),
    rowsAfter: database.query<RecordRow, [number, string, number, number]>(
      `${record} and resource = ? and id > ? order by id limit ?`,
    ),
    since: database.query<Change, [number, number, number]>(`select ${changeColumns} ${entries}`),
    entries: database.query<JournalEntry, [number, number, number]>(`select ${entryColumns} ${entries}`),
  };
}

type SiteRow = Pick<TableRow<"sites">, "revision" | "epoch" | "counts" | "last_ids" | "floor">;

function toReadResult(row: SiteRow | null, requiredHead: Head | undefined): SiteReadResult {
  const { revision, epoch, counts } = row ?? noSite;
  requireHeadAtLeast({ revision, epoch }, requiredHead);
  return { head: { revision, epoch }, counts: JSON.parse(counts) };
}

/** Reads a site in one transaction on the separate connection `database`, while other connections can write. Closes `database` at the end. */
async function readChunks<T>(
  database: Database,
  site: number,
  use: (contents: SiteContents) => Promise<T>,
  requiredHead: Head | undefined,
): Promise<T> {
  try {
    database.run("begin");
    const sql = statementsOf(database);
    const state = toReadResult(sql.site.get(site), requiredHead);
    return await use({ ...state, rowChunks: toChunks(sql.rows.iterate(site, -1)) });
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}

function* toChunks(rows: Iterable<RecordRow>): Generator<readonly RecordRow[]> {
  let chunk: RecordRow[] = [];
  for (const row of rows) {
    chunk.push(row);
    if (chunk.length < rowsPerChunk) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

function integrity(database: Database): string[] {
  const rows = database.query("pragma integrity_check").values() as [string][];
  return rows.map(([line]) => line).filter((line) => line !== "ok");
}
