// The read side of the SQLite engine: heads, records, pages, whole sites, journals and dumps.
//
// Most reads share one connection on this thread. A large site and a dump are read on separate connections: their transaction stays open while other
// reads and writes continue. After each read, the engine checks that the database files were not removed or replaced.

import type { Database } from "bun:sqlite";
import { Semaphore } from "../../lib/concurrency.ts";
import type { Change, JournalEntry } from "../../model/change.ts";
import type { DumpedRow, Engine, RecordRow, SiteContents, SiteReadResult, SiteRows } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { findRowInconsistencies } from "../database/consistency-check.ts";
import { changeColumns, contiguousChanges, entryColumns } from "../database/journal.ts";
import { type ExecuteOperation, transactionOf } from "../database/operations.ts";
import { parseCounts, type StoredCounts } from "../database/record-counts.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import { describeLeftoverTables } from "../database/table-swap.ts";
import { columnsOf, type DumpOptions, dumpedColumns, siteColumnOf, tablesWith } from "../database/tables.ts";
import { tableNamesIn } from "./database.ts";
import { fromSqlite, withSqliteErrors } from "./errors.ts";
import { runStatements } from "./transaction.ts";

interface Reader {
  readonly calls: Pick<Engine, "readsOnThisThread" | "readHeads" | "dump" | "findInconsistencies"> &
    SiteReads &
    JournalReads;
  /** Executes an operation that reads. */
  readonly execute: ExecuteOperation;
}

/**
 * Creates the read side.
 * @param database the shared connection
 * @param open opens another connection to the same database, for a large site or a dump
 * @param requireUnreplaced throws if the files were removed or replaced; called after each read and at the end of a dump
 */
export function createReader(database: Database, open: () => Database, requireUnreplaced: () => void): Reader {
  const head = database.query("select revision, epoch from sites where id = ?");
  const reads = guardReads(database, requireUnreplaced);
  const { read, readInTransaction } = reads;
  const heads = (sites: readonly number[]): Head[] =>
    sites.map((site) => (head.get(site) as Head | null) ?? { revision: 0, epoch: "" });

  function* dump(site?: number) {
    yield* dumpRows(open, { site });
    requireUnreplaced();
  }

  const calls: Reader["calls"] = {
    readsOnThisThread: true,
    // One transaction, so that the heads of a site and of the system site are from the same moment.
    readHeads: async (sites) => readInTransaction(() => heads(sites)),
    ...createSiteReads(database, reads, open, requireUnreplaced),
    ...createJournalReads(database, reads),
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
    execute: async (name, args) => readInTransaction(() => runStatements(database, transactionOf(name, args))),
  };
}

function integrity(database: Database): string[] {
  const rows = database.query("pragma integrity_check").values() as [string][];
  return rows.map(([line]) => line).filter((line) => line !== "ok");
}

/** Functions that run a read on the shared connection, and check the files after it. */
interface GuardedReads {
  /** Runs `work`. @throws ProblemError `unavailable`, also if the files were removed or replaced */
  read<T>(work: () => T): T;
  /** Runs `work` in one transaction, so that everything that it reads is from the same moment. @throws as `read` does */
  readInTransaction<T>(work: () => T): T;
}

/** @param requireUnreplaced throws if the files were removed or replaced; called after each read */
function guardReads(database: Database, requireUnreplaced: () => void): GuardedReads {
  const atOnce = database.transaction((work: () => unknown) => work());

  function read<T>(work: () => T): T {
    const result = withSqliteErrors(work);
    requireUnreplaced();
    return result;
  }

  return { read, readInTransaction: <T>(work: () => T) => read(() => atOnce(work) as T) };
}

// Reads of one site: one record, a page of records, or all rows.

type SiteReads = Pick<Engine, "readRecord" | "readPage" | "readRowsAfter" | "readRows" | "readSite">;

/** Rows per chunk. A site with at most this number of rows is read as one chunk, on the shared connection. */
const rowsPerChunk = 256;

/** Maximum sites that are read in several chunks at once. Each needs a connection, and memory that `--memory` counts only after the load. */
const maxConcurrentLoads = 4;

const selectSite = "select revision, epoch, live, live_revision from sites where id = ?";
const selectCounters = "select counters from sites where id = ?";
const recordColumns = columnsOf("records", ["site_id"]).join(", ");
const selectRows = `select ${recordColumns} from records where site_id = ? order by resource, id limit coalesce(?, -1)`;

/**
 * @param open opens another connection to the same database, for a site that is read in several chunks
 * @param requireUnreplaced throws if the files were removed or replaced; called after a site was read in several chunks
 */
function createSiteReads(
  database: Database,
  { readInTransaction }: GuardedReads,
  open: () => Database,
  requireUnreplaced: () => void,
): SiteReads {
  const sql = siteStatements(database);
  const loadSemaphore = new Semaphore(maxConcurrentLoads);

  /** Runs `work` in a transaction, with the state of the site in it. */
  function read<T>(site: number, requiredHead: Head | undefined, work: (found: SiteReadResult) => T): T {
    return readInTransaction(() => work(toReadResult(sql.site.get(site), requiredHead)));
  }

  return {
    readRecord: async (site, resource, id, requiredHead) =>
      read(site, requiredHead, (found) => ({
        ...found,
        row: sql.record.get(site, resource, id) ?? undefined,
        system: toReadResult(sql.site.get(systemSite), undefined).head,
      })),
    readPage: async (site, resource, { limit, offset }, requiredHead) =>
      read(site, requiredHead, (found) => ({ ...found, rows: sql.page.all(site, resource, limit, offset) })),
    readRowsAfter: async (site, resource, { after, limit }) =>
      read(site, undefined, (found) => ({ ...found, rows: sql.rowsAfter.all(site, resource, after, limit) })),
    readRows: async (site, keys) => read(site, undefined, (found) => ({ ...found, ...readKeys(sql, site, keys) })),
    readSite: async (site, use, requiredHead) => {
      const readStart = (found: SiteReadResult) => ({ ...found, rows: sql.rows.all(site, rowsPerChunk + 1) });
      const { rows, ...found } = read(site, requiredHead, readStart);
      if (rows.length <= rowsPerChunk) return use({ ...found, rowChunks: [rows] });
      const readAll = () => readChunks(open(), site, use, requiredHead);
      // The system site does not wait, because all requests need it.
      const result = await (site === systemSite ? readAll() : loadSemaphore.run(readAll));
      requireUnreplaced();
      return result;
    },
  };
}

function readKeys(
  sql: ReturnType<typeof siteStatements>,
  site: number,
  keys: Parameters<Engine["readRows"]>[1],
): Pick<SiteRows, "lastIds" | "rows"> {
  return {
    lastIds: JSON.parse(sql.counters.get(site)?.counters ?? "{}"),
    rows: keys.flatMap(({ resource, id }) => sql.record.get(site, resource, id) ?? []),
  };
}

function siteStatements(database: Database) {
  return {
    site: database.query(selectSite),
    counters: database.query<{ counters: string }, [number]>(selectCounters),
    rows: database.query<RecordRow, [number, number]>(selectRows),
    record: database.query<RecordRow, [number, string, number]>(
      `select ${recordColumns} from records where site_id = ? and resource = ? and id = ?`,
    ),
    page: database.query<RecordRow, [number, string, number, number]>(
      `select ${recordColumns} from records
where site_id = ? and resource = ? and body is not null order by id limit ? offset ?`,
    ),
    rowsAfter: database.query<RecordRow, [number, string, number, number]>(
      "select resource, id, revision, body from records where site_id = ? and resource = ? and id > ? order by id limit ?",
    ),
  };
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
    const state = toReadResult(database.query(selectSite).get(site), requiredHead);
    const rows = database.query<RecordRow, [number, null]>(selectRows).iterate(site, null);
    return await use({ ...state, rowChunks: toChunks(rows) });
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

function toReadResult(row: unknown, requiredHead: Head | undefined): SiteReadResult {
  const { epoch, ...stored } = (row as (StoredCounts & { epoch: string }) | null) ?? emptySiteRow;
  const head = { revision: stored.revision, epoch };
  requireHeadAtLeast(head, requiredHead);
  return { head, counts: parseCounts(stored) };
}

const emptySiteRow = { revision: 0, epoch: "", live: null, live_revision: null };

// Reads of the journal of one site.

type JournalReads = Pick<Engine, "readChangesSince" | "readJournalPage">;

const emptyJournalRow = { revision: 0, epoch: "", floor: 0 };

function createJournalReads(database: Database, { readInTransaction }: GuardedReads): JournalReads {
  const sql = journalStatements(database);
  return {
    readChangesSince: async (site, revision, options = {}) =>
      readInTransaction(() => {
        const head = sql.head.get(site) ?? { revision: 0, epoch: "" };
        requireHeadAtLeast(head, options.requiredHead);
        const changes = sql.since.all(site, revision, options.limit ?? -1);
        return contiguousChanges(changes, head, revision, options);
      }),
    readJournalPage: async (site, revision, limit) =>
      readInTransaction(() => {
        const { floor, ...head } = sql.floor.get(site) ?? emptyJournalRow;
        return { head, floor, entries: sql.entries.all(site, revision, limit) };
      }),
  };
}

function journalStatements(database: Database) {
  const range = "from journal where site_id = ? and revision > ? order by revision limit ?";
  return {
    head: database.query<Head, [number]>("select revision, epoch from sites where id = ?"),
    since: database.query<Change, [number, number, number]>(`select ${changeColumns} ${range}`),
    floor: database.query<Head & { floor: number }, [number]>("select revision, epoch, floor from sites where id = ?"),
    entries: database.query<JournalEntry, [number, number, number]>(`select ${entryColumns} ${range}`),
  };
}

type Cell = string | number | null;

/** Reads the rows of a dump (`tablesWith`) as of one moment, on a separate connection. Opens it with `open`, and closes it at the end. */
export function* dumpRows(
  open: () => Database,
  { nameOf = (table) => table, present, site }: DumpOptions = {},
): Generator<DumpedRow> {
  const database = open();
  try {
    database.run("begin");
    for (const table of tablesWith(site)) {
      if (present && !present.includes(table)) continue;
      const where = site === undefined ? "" : `where ${siteColumnOf(table)} = ${site}`;
      const from = nameOf(table);
      const text = `select ${dumpedColumns(table, from)} from ${from} ${where}`;
      for (const row of database.query<Record<string, Cell>, []>(text).iterate()) yield { table, row };
    }
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}
