// What is read of one site: a record, a page, or all of it.

import type { Database } from "bun:sqlite";
import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import { Slots } from "../../lib/slots.ts";
import type { Engine, Head, RecordCounts, RecordRow, SiteContents } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
import { readCounts, type StoredCounts } from "../record-counts.ts";
import { requireReached } from "../since.ts";
import { fromSqlite } from "./database.ts";
import type { GuardedReads } from "./guarded-reads.ts";

type SiteReads = Pick<Engine, "readRecord" | "readPage" | "readSite">;

/** Rows of a portion. A site that has no more is read at once, on the connection of the other reads. */
const portionSize = 256;

/** Sites that are read in portions at once: each has a connection, and is in memory before it counts for `--memory`. */
const maxPortioned = 4;

const selectSite = "select revision, epoch, live, live_revision from sites where id = ?";
const selectRows =
  "select resource, id, revision, body from records where site_id = ? order by resource, id limit coalesce(?, -1)";

/**
 * @param open another connection to the same database, for a site that is read in portions
 * @param guard throws when the files must not be relied on; called after a site was read in portions
 */
export function createSiteReads(
  database: Database,
  { readAtOnce }: GuardedReads,
  open: () => Database,
  guard: () => void,
): SiteReads {
  const sql = siteStatements(database);
  const slots = new Slots(maxPortioned);

  /** Runs `work` in a transaction, with the site as it is there. */
  function read<T>(site: number, minHead: Head | undefined, work: (found: SiteState) => T): T {
    return readAtOnce(() => work(toState(sql.site.get(site), minHead)));
  }

  return {
    readRecord: (site, resource, id, minHead) =>
      read(site, minHead, (found) => ({
        ...found,
        row: sql.record.get(site, resource, id) ?? undefined,
        system: toState(sql.site.get(systemSite), undefined).head,
      })),
    readPage: (site, resource, { limit, offset }, minHead) =>
      read(site, minHead, (found) => ({ ...found, rows: sql.page.all(site, resource, limit, offset) })),
    readSite: (site, use, minHead) => {
      const small = read(site, minHead, (found) => ({ ...found, rows: sql.rows.all(site, portionSize + 1) }));
      const { rows, ...found } = small;
      if (rows.length <= portionSize) return use({ ...found, portions: [rows] });
      const readAll = () => readPortions(open(), site, use, minHead);
      // The system site is needed for everything else.
      return after(site === systemSite ? readAll() : slots.run(readAll), (result) => {
        guard();
        return result;
      });
    },
  };
}

function siteStatements(database: Database) {
  return {
    site: database.query(selectSite),
    rows: database.query<RecordRow, [number, number]>(selectRows),
    record: database.query<RecordRow, [number, string, number]>(
      "select resource, id, revision, body from records where site_id = ? and resource = ? and id = ?",
    ),
    page: database.query<RecordRow, [number, string, number, number]>(
      `select resource, id, revision, body from records
where site_id = ? and resource = ? and body is not null order by id limit ? offset ?`,
    ),
  };
}

/** Reads a site in one transaction on a separate connection, while others write. */
function readPortions<T>(
  database: Database,
  site: number,
  use: (contents: SiteContents) => MaybePromise<T>,
  minHead: Head | undefined,
): MaybePromise<T> {
  const fail = (error: unknown) => {
    database.close();
    throw fromSqlite(error);
  };
  const close = (result: T) => {
    database.close();
    return result;
  };
  try {
    database.run("begin");
    const state = toState(database.query(selectSite).get(site), minHead);
    const rows = database.query<RecordRow, [number, null]>(selectRows).iterate(site, null);
    const used = use({ ...state, portions: inPortions(rows) });
    return used instanceof Promise ? used.then(close, fail) : close(used);
  } catch (error) {
    return fail(error);
  }
}

function* inPortions(rows: Iterable<RecordRow>): Generator<readonly RecordRow[]> {
  let portion: RecordRow[] = [];
  for (const row of rows) {
    portion.push(row);
    if (portion.length < portionSize) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

interface SiteState {
  readonly head: Head;
  readonly counts: RecordCounts | undefined;
}

function toState(row: unknown, minHead: Head | undefined): SiteState {
  const { epoch, ...stored } = (row as (StoredCounts & { epoch: string }) | null) ?? emptySiteRow;
  const head = { revision: stored.revision, epoch };
  requireReached(head, minHead);
  return { head, counts: readCounts(stored) };
}

const emptySiteRow = { revision: 0, epoch: "", live: null, live_revision: null };
