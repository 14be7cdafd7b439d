// Reads of the records of a site: one record, a page of records, or all rows. A large site is read on a separate connection, whose transaction stays open
// while other reads and writes continue.

import type { Database } from "bun:sqlite";
import { Semaphore } from "../../lib/concurrency.ts";
import type { Engine, RecordRow, SiteContents, SiteReadResult, SiteRows } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import { columnsOf } from "../database/tables.ts";
import { fromSqlite } from "./errors.ts";
import type { GuardedReads } from "./guarded-reads.ts";

export type SiteReads = Pick<Engine, "readRecord" | "readPage" | "readRowsAfter" | "readRows" | "readSite">;

/** Rows per chunk. A site with at most this number of rows is read as one chunk, on the shared connection. */
const rowsPerChunk = 256;

/** Maximum sites that are read in several chunks at once. Each needs a connection, and memory that `--memory` counts only after the load. */
const maxConcurrentLoads = 4;

const selectSite = "select revision, epoch, counts from sites where id = ?";
const recordColumns = columnsOf("records", ["site_id"]).join(", ");
const selectRows = `select ${recordColumns} from records where site_id = ? order by resource, id limit coalesce(?, -1)`;

/**
 * @param open opens another connection to the same database, for a site that is read in several chunks
 * @param requireUnreplaced throws if the files were removed or replaced; called after a site was read in several chunks
 */
export function createSiteReads(
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
    lastIds: JSON.parse(sql.lastIds.get(site)?.last_ids ?? "{}"),
    rows: keys.flatMap(({ resource, id }) => sql.record.get(site, resource, id) ?? []),
  };
}

function siteStatements(database: Database) {
  return {
    site: database.query(selectSite),
    lastIds: database.query<{ last_ids: string }, [number]>("select last_ids from sites where id = ?"),
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
  const { counts, ...head } = (row as (Head & { counts: string }) | null) ?? emptySiteRow;
  requireHeadAtLeast(head, requiredHead);
  return { head, counts: JSON.parse(counts) };
}

const emptySiteRow = { revision: 0, epoch: "", counts: "{}" };
