// The read side of the SQLite engine.
//
// Most reads share a connection on this thread, and each is followed by a check that the database files weren't removed or replaced. A large site or
// a dump is read on a connection of its own, whose transaction stays open while other reads and writes continue.

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
  /** For operations that read. */
  readonly execute: ExecuteOperation;
}

/** A site with no more rows than this is read as one chunk, on the shared connection. */
const rowsPerChunk = 256;

/** Maximum sites read in several chunks at once. Each needs a connection, and memory that `--memory` only counts after the load. */
const maxConcurrentLoads = 4;

/** For a site that was never written to. */
const noHead: Head = { revision: 0, epoch: "" };
const noSite = { ...noHead, counts: "{}", last_ids: "{}", floor: 0 };

/**
 * @param database the shared connection
 * @param open opens another connection to the same database, for a large site or a dump
 * @param requireUnreplaced throws if the files were removed or replaced. Called after each read, and at the end of a large site or dump
 */
export function createReader(database: Database, open: () => Database, requireUnreplaced: () => void): Reader {
  const sql = statementsOf(database);
  const loadSemaphore = new Semaphore(maxConcurrentLoads);
  const atOnce = database.transaction((work: () => unknown) => work());

  /** @throws ProblemError `unavailable`, including if the files were removed or replaced */
  function read<T>(work: () => T): T {
    const result = withSqliteErrors(work);
    requireUnreplaced();
    return result;
  }

  /** Runs `work` in a transaction, so that everything it reads is as of one moment. @throws like `read` */
  function readAtOnce<T>(work: () => T): T {
    return read(() => atOnce(work) as T);
  }

  /** Runs `work` in a transaction, passing it the site's state. */
  function readSite<T>(site: number, requiredHead: Head | undefined, work: (found: SiteReadResult) => T): T {
    return readAtOnce(() => work(toReadResult(sql.site.get(site), requiredHead)));
  }

  function* dump(site?: number) {
    yield* dumpRows(open, { site });
    requireUnreplaced();
  }

  const calls: Reader["calls"] = {
    readsOnThisThread: true,
    // In one transaction, so that the heads of a site and the system site are as of the same moment.
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
      // The system site doesn't queue, because every request needs it.
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

/** Reads a site in one transaction on a connection of its own, while others can write. Closes the connection at the end. */
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
