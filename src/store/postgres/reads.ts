// Reads a site's records (one, a page, or all of them) and its journal, and searches many sites.

import type { Change, JournalEntry, JournalPage } from "../../model/change.ts";
import type {
  Engine,
  RecordCounts,
  RecordRow,
  RowSearch,
  RowsOfSites,
  SinceOptions,
  SiteContents,
  SiteReadResult,
  SiteRows,
} from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { contiguousChanges } from "../database/journal.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { LoadQueue } from "./load-queue.ts";
import type { Pool } from "./pool.ts";
import { lookUp, sql } from "./statements.ts";
import { awaitAll } from "./transaction.ts";

type Reads = Required<
  Pick<
    Engine,
    | "readRecord"
    | "readPage"
    | "readRowsAfter"
    | "readRows"
    | "readMatchingRows"
    | "readSite"
    | "readChangesSince"
    | "readJournalPage"
  >
>;

type RowKeys = Parameters<Engine["readRows"]>[1];

/** Processing a chunk of this size blocks other requests for about a millisecond. */
const rowsPerChunk = 500;

/**
 * @param pagePool for pages, which many clients may read at once without making other reads and writes wait
 * @param maxLoads maximum sites read as a whole at once. Fewer than the connections of `pool`, because each load uses one for seconds
 */
export function createReads(pool: Pool, pagePool: Pool, maxLoads: number): Reads {
  const loads = new LoadQueue(maxLoads, pool.timeoutMs);
  return {
    readRecord: (site, resource, id, requiredHead) =>
      pool.read(async (connection) => {
        const [row] = await lookUp(connection, sql.record, site, resource, id);
        const system = toHead({ revision: row?.system_revision, epoch: row?.system_epoch }, connection);
        return { ...toReadResult(connection, row, requiredHead), row: toRecord(row), system };
      }),
    readPage: (site, resource, { limit, offset }, requiredHead) =>
      pagePool.read(async (connection) => {
        const [row] = await lookUp(connection, sql.page, site, resource, limit, offset);
        return { ...toReadResult(connection, row, requiredHead), rows: parsePage(resource, row?.page) };
      }),
    readRowsAfter: (site, resource, { after, limit }) =>
      pagePool.read(async (connection) => {
        const [row] = await lookUp(connection, sql.rowsAfter, site, resource, after, limit);
        return { ...toReadResult(connection, row, undefined), rows: parsePage(resource, row?.page) };
      }),
    readMatchingRows: (sites, search) => pagePool.read((connection) => readMatchingRows(connection, sites, search)),
    readRows: (site, keys) => pagePool.read((connection) => readRows(connection, site, keys)),
    readSite: (site, use, requiredHead) => {
      const read = (firstMs?: number) =>
        pool.read((connection, progress) => {
          const onRows = () => {
            progress.restartTimeLimit();
            loads.markRows();
          };
          return readWholeSite(connection, { site, use, requiredHead, onRows });
        }, firstMs);
      // The system site doesn't queue, because every request needs it.
      return site === systemSite ? read() : loads.run(read);
    },
    readChangesSince: (site, revision, options = {}) =>
      pool.read((connection) => readChanges(connection, site, revision, options)),
    readJournalPage: (site, revision, limit) =>
      pagePool.read((connection) => readJournal(connection, site, revision, limit)),
  };
}

interface WholeSiteRead<T> {
  readonly site: number;
  readonly use: (contents: SiteContents) => Promise<T>;
  readonly requiredHead: Head | undefined;
  /** Called after each chunk of rows. */
  readonly onRows: () => void;
}

async function readWholeSite<T>(
  connection: PostgresConnection,
  { site, use, requiredHead, onRows }: WholeSiteRead<T>,
): Promise<T> {
  const texts = [sql.beginRead, sql.site(site), sql.lastEntry(site)];
  const [sites, entries] = await connection.script(texts.join("; "));
  const last = entries?.[0] as Change | undefined;
  const rowChunks = readChunks(connection, onRows, site);
  const result = await use({ ...toReadResult(connection, sites?.[0], requiredHead), last, rowChunks });
  await connection.script(sql.endRead);
  return result;
}

/** Reads rows and their site's state in one transaction, in one round trip. */
async function readRows(connection: PostgresConnection, site: number, keys: RowKeys): Promise<SiteRows> {
  const ofSite = keys.map(({ resource, id }) => ({ site_id: site, resource, id }));
  const [sites, rows] = await awaitAll<[ResultRow[][], ResultRow[], unknown]>([
    connection.script(sql.beginReadByKeys(site)),
    ofSite.length === 0 ? Promise.resolve([]) : connection.query(sql.rowsByKeys("records"), ofSite),
    connection.script(sql.endRead),
  ]);
  const row = sites[0]?.[0];
  return {
    ...toReadResult(connection, row, undefined),
    lastIds: JSON.parse(row?.last_ids ?? "{}"),
    rows: rows.map(({ resource, id, revision, body }) => ({ resource, id, revision, body })),
  };
}

async function* readChunks(
  connection: PostgresConnection,
  onRows: () => void,
  site: number,
): AsyncGenerator<readonly RecordRow[]> {
  for await (const rows of connection.pages(sql.rows(site), rowsPerChunk)) {
    yield rows as RecordRow[];
    onRows();
  }
}

/** Returns the record in a row that joins a site and a record, if there is one. */
function toRecord(row: ResultRow | undefined): RecordRow | undefined {
  if (row?.id === undefined || row.id === null) return undefined;
  const { resource, id, record_revision: revision, body } = row;
  return { resource, id, revision, body };
}

/** Separates the records of a page, as in RFC 7464. JSON contains no control characters. */
const recordSeparator = "\x1e";

/** Parses the column `page`. Each record is its ID, its revision and its JSON, which is empty if it was deleted. */
function parsePage(resource: string, page: string | null | undefined): RecordRow[] {
  if (!page) return [];
  return page.split(recordSeparator).map((record) => {
    const idEnd = record.indexOf(" ");
    const revisionEnd = record.indexOf(" ", idEnd + 1);
    return {
      resource,
      id: Number(record.slice(0, idEnd)),
      revision: Number(record.slice(idEnd + 1, revisionEnd)),
      body: record.slice(revisionEnd + 1) || null,
    };
  });
}

/**
 * @param row of `sites`; undefined for a site that was never written to
 * @throws ProblemError `unavailable` if the site is behind `requiredHead`
 */
function toReadResult(
  connection: PostgresConnection,
  row: ResultRow | undefined,
  requiredHead: Head | undefined,
): SiteReadResult {
  const head = toHead(row, connection);
  requireHeadAtLeast(head, requiredHead);
  return { head, counts: JSON.parse(row?.counts ?? "{}") };
}

/** @param row of `sites`; undefined for a site that was never written to */
export function toHead(
  row: { revision?: number; epoch?: string } | undefined,
  { timeline }: Pick<PostgresConnection, "timeline">,
): Head {
  return { revision: row?.revision ?? 0, epoch: row?.epoch ?? "", timeline };
}

/** Reads all changes: no journal has this many. */
const maxChanges = 1_000_000_000;

async function readChanges(
  connection: PostgresConnection,
  site: number,
  revision: number,
  options: SinceOptions,
): Promise<readonly Change[] | undefined> {
  const texts = [sql.beginRead, sql.heads([site]), sql.since(site, revision, options.limit ?? maxChanges), sql.endRead];
  const [heads, rows = []] = await connection.script(texts.join("; "));
  const head = toHead(heads?.[0], connection);
  requireHeadAtLeast(head, options.requiredHead);
  return contiguousChanges(rows as Change[], head, revision, options);
}

async function readJournal(
  connection: PostgresConnection,
  site: number,
  revision: number,
  limit: number,
): Promise<JournalPage> {
  const texts = [sql.beginRead, sql.site(site), sql.entries(site, revision, limit), sql.endRead];
  const [sites, rows = []] = await connection.script(texts.join("; "));
  return { head: toHead(sites?.[0], connection), floor: sites?.[0]?.floor ?? 0, entries: rows as JournalEntry[] };
}

// Searches many small sites with a single query, so that their rows don't leave the database, and no site takes round trips of its own.

interface SearchLimits {
  /** Maximum sites per query. */
  readonly sites: number;
  /** Maximum records read per query. PostgreSQL reads a thousand in about a millisecond. */
  readonly records: number;
  /** Maximum rows returned per query. */
  readonly rows: number;
}

const defaultLimits: SearchLimits = { sites: 1000, records: 10_000, rows: 500 };

/** Implements `Engine.readMatchingRows`, in two round trips. */
export async function readMatchingRows(
  connection: PostgresConnection,
  sites: readonly number[],
  { id, text }: RowSearch,
  limits = defaultLimits,
): Promise<RowsOfSites> {
  const read = await selectSites(connection, sites.slice(0, limits.sites), limits.records);
  if (read.length === 0) return { siteCount: 0, rows: [] };
  const ofSites = read.map((site) => ({ id: site }));
  const found = await lookUp(connection, sql.matchingRows(limits.rows + 1), ofSites, id ?? -1, text);
  // If there are more rows, the site of the next one wasn't searched to its end.
  const incomplete: number | undefined = found[limits.rows]?.site_id;
  const siteCount = incomplete === undefined ? read.length : read.indexOf(incomplete);
  const complete = found.filter(({ site_id }) => incomplete === undefined || site_id < incomplete);
  const rows = complete.map(({ site_id, resource, id, revision, body }) => ({
    site: site_id as number,
    ...{ resource, id, revision, body },
  }));
  return { siteCount, rows };
}

/** Returns the first of `sites` that have no more than `maxRecords` records between them. */
async function selectSites(
  connection: PostgresConnection,
  sites: readonly number[],
  maxRecords: number,
): Promise<readonly number[]> {
  const [rows = []] = await connection.script(sql.counts(sites));
  const sizes = new Map(rows.map((row) => [row.id as number, recordCount(JSON.parse(row.counts))]));
  let records = 0;
  const end = sites.findIndex((site) => {
    records += sizes.get(site) ?? 0;
    return records > maxRecords;
  });
  return end === -1 ? sites : sites.slice(0, end);
}

function recordCount(counts: RecordCounts): number {
  return Object.values(counts).reduce((sum, { count }) => sum + count, 0);
}
