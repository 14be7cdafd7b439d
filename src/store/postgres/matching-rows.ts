// Searches the rows of many small sites with one query. Their rows do not leave the database, and no site takes round trips of its own.

import type { RecordCounts, RowSearch, RowsOfSites } from "../../model/engine.ts";
import type { PostgresConnection } from "./connection.ts";
import { lookUp, sql } from "./statements.ts";

interface SearchLimits {
  /** Maximum sites of one query. */
  readonly sites: number;
  /** Maximum records that one query reads. PostgreSQL reads a thousand records in about a millisecond. */
  readonly records: number;
  /** Maximum rows that one query returns. */
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
  // If rows remain, the site of the first of them was not read to its end.
  const incomplete: number | undefined = found[limits.rows]?.site_id;
  const siteCount = incomplete === undefined ? read.length : read.indexOf(incomplete);
  const complete = found.filter(({ site_id }) => incomplete === undefined || site_id < incomplete);
  const rows = complete.map(({ site_id, resource, id, revision, body }) => ({
    site: site_id as number,
    ...{ resource, id, revision, body },
  }));
  return { siteCount, rows };
}

/** Returns the first of `sites`, which have at most `maxRecords` records together. */
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
