// What is read of one site: a record, a page, or all of it.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { Slots } from "../../lib/slots.ts";
import type { Change } from "../../model/change.ts";
import type { Engine, Head, RecordCounts, RecordRow, SiteContents } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
import { readCounts } from "../record-counts.ts";
import { requireReached } from "../since.ts";
import { toHead } from "./journal-reads.ts";
import { lookUp } from "./look-up.ts";
import type { Lease, Pool } from "./pool.ts";
import type { PostgresConnection, ResultRow } from "./postgres-connection.ts";
import { sql } from "./statements.ts";

type SiteReads = Pick<Engine, "readRecord" | "readPage" | "readSite">;

/** Rows that are fetched at once: what comes of them delays others by about a millisecond. */
const portionSize = 500;

/**
 * @param pagePool for pages, which other reads and writes do not wait for
 * @param maxLoads whole sites that are read at once: fewer than `pool` has connections, since a load has one for seconds
 */
export function createSiteReads(pool: Pool, pagePool: Pool, maxLoads: number): SiteReads {
  const slots = new Slots(maxLoads);

  function readSite<T>(site: number, use: (contents: SiteContents) => MaybePromise<T>, minHead?: Head): Promise<T> {
    return pool.read(async (connection, lease) => {
      const texts = [sql.beginRead, sql.site(site), sql.lastEntry(site)];
      const [sites, entries] = await connection.script(texts.join("; "));
      const last = entries?.[0] as Change | undefined;
      const portions = portionsOf(connection, lease, site);
      const result = await use({ ...toState(connection, sites?.[0], minHead), last, portions });
      await connection.script(sql.endRead);
      return result;
    });
  }

  return {
    readRecord: (site, resource, id, minHead) =>
      pool.read(async (connection) => {
        const [row] = await lookUp(connection, sql.record, site, resource, id);
        const system = toHead({ revision: row?.system_revision, epoch: row?.system_epoch }, connection);
        return { ...toState(connection, row, minHead), row: toRecord(row), system };
      }),
    readPage: (site, resource, { limit, offset }, minHead) =>
      pagePool.read(async (connection) => {
        const rows = await lookUp(connection, sql.page, site, resource, limit, offset);
        return { ...toState(connection, rows[0], minHead), rows: rows.flatMap((row) => toRecord(row) ?? []) };
      }),
    readSite: (site, use, minHead) => {
      const read = () => readSite(site, use, minHead);
      // The system site is needed for everything else.
      return site === systemSite ? read() : slots.run(read);
    },
  };
}

async function* portionsOf(
  connection: PostgresConnection,
  lease: Lease,
  site: number,
): AsyncGenerator<readonly RecordRow[]> {
  for await (const rows of connection.pages(sql.rows(site), portionSize)) {
    yield rows as RecordRow[];
    lease.more();
  }
}

/** The record in a row of a site and a record; undefined where there is none. */
function toRecord(row: ResultRow | undefined): RecordRow | undefined {
  if (row?.id === undefined || row.id === null) return undefined;
  const { resource, id, record_revision: revision, body } = row;
  return { resource, id, revision, body };
}

/** A site that was never written to has no row. */
function toState(
  connection: PostgresConnection,
  row: ResultRow | undefined,
  minHead: Head | undefined,
): { head: Head; counts: RecordCounts | undefined } {
  const { live = null, live_revision = null } = row ?? {};
  const head = toHead(row, connection);
  requireReached(head, minHead);
  return { head, counts: readCounts({ revision: head.revision, live, live_revision }) };
}
