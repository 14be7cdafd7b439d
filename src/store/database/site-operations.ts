// Database operations on whole sites: pruning a journal, new epochs, deleting a removed site's rows, and importing a site. The epochs are explained
// in site-state.ts.
//
// Operations that write lock the rows of their sites first, so that commits to these sites, and restores, wait until they're done.

import { randomText } from "../../lib/text.ts";
import type { DumpedRow } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { siteResourceName, systemSite } from "../../model/system-site.ts";
import { lastPrunable } from "./journal.ts";
import { renewedKind, saveRestrictions } from "./restrictions.ts";
import { type RowChunk, toChunksWithNewEpochs } from "./row-chunks.ts";
import { isUsableEpoch, newImportingEpoch, newSiteState, removedEpoch, toSiteRow } from "./site-state.ts";
import { columnsOf, primaryKeyOf, type TableName, type TableRow, tableNames } from "./tables.ts";
import { readDatabaseId } from "./this-database.ts";
import { execute, query, queryForUpdate, storeDumped, type Transaction, upsert } from "./transaction.ts";

export function* pruneJournal(site: number, through: number, most: number): Transaction<boolean> {
  const [row] = yield* lockSite(site);
  const end = lastPrunable(through, row?.revision ?? 0);
  if (!row || row.epoch === removedEpoch || row.floor >= end) return false;
  const floor = Math.min(end, row.floor + most);
  yield execute("delete from journal where site_id = :site and revision <= :floor", { site, floor });
  yield execute("update sites set floor = :floor where id = :site", { site, floor });
  return floor < end;
}

/** Maximum rows per statement. */
const maxRows = 1000;

export function* replaceEpochs(now = Date.now()): Transaction<number> {
  const rows = yield queryForUpdate(`select ${columnsOf("sites").join(", ")} from sites order by id`);
  const usable = rows.filter(({ epoch }) => isUsableEpoch(String(epoch)));
  const changed = usable.map((row) => ({ ...(row as TableRow<"sites">), epoch: randomText(8) }));
  for (let at = 0; at < changed.length; at += maxRows) yield upsert("sites", changed.slice(at, at + maxRows));
  yield* saveRestrictions([{ kind: renewedKind, name: yield* readDatabaseId(), field: "", value: "", at: now }]);
  return changed.filter(({ id }) => id !== systemSite).length;
}

/**
 * Implements `Engine.replaceEpoch`, for engines with timelines. Reads wait for it and must work without a standby, so it's `loose`. The next write
 * makes it durable as well.
 */
export function* replaceEpoch(site: number, epoch: string): Transaction<Pick<Head, "revision" | "epoch">> {
  const [row = { revision: 0, epoch: "" }] = yield* lockSite(site);
  const { revision } = row;
  if (row.epoch !== epoch) return { revision, epoch: row.epoch };
  const newEpoch = randomText(8);
  yield execute("update sites set epoch = :epoch where id = :site", { site, epoch: newEpoch });
  return { revision, epoch: newEpoch };
}

/** The tables with rows of a site, except `sites`. */
const siteTables = tableNames.filter((table) => primaryKeyOf(table)[0] === "site_id");

const leftovers = siteTables.map((table) => `exists (select 1 from ${table} as l where l.site_id = gone.id)`);

/** Finds the sites that still have rows although their record was deleted. Works with every engine. */
export const selectSitesToDrop = `select gone.id from records as gone
where gone.site_id = ${systemSite} and gone.resource = '${siteResourceName}' and gone.body is null and (
  exists (select 1 from sites where sites.id = gone.id and sites.epoch <> '${removedEpoch}')
  or ${leftovers.join("\n  or ")}
) order by gone.id`;

export function* readSitesToDrop(): Transaction<readonly number[]> {
  return (yield query(selectSitesToDrop)).map(({ id }) => Number(id));
}

/** Maximum rows that one transaction of a long deletion deletes. That takes SQLite 10 to 25 ms, during which other writers wait. */
export const maxDeletedRows = 2000;

/** Finds a row only if the site's record is deleted. After a restore, it may be back, or may never have existed. */
const selectDeleted = `select 1 from records where site_id = ${systemSite} and resource = '${siteResourceName}' and id = :site and body is null`;

/** If the site's record has been deleted, makes the site reject writes, then deletes some of its rows in `table`. Returns whether there were any. */
export function* deleteSiteChunk(site: number, table: TableName): Transaction<boolean> {
  // Locking a row of `sites` keeps a restore from replacing the tables before we commit.
  yield* lockSite(site);
  const deleted = yield query(selectDeleted, { site });
  if (deleted.length === 0) return false;
  yield upsert("sites", [toSiteRow(site, { ...newSiteState(), epoch: removedEpoch })]);
  return (yield execute(deleteSome(table, ":site", `limit ${maxDeletedRows}`), { site })).length > 0;
}

/** Implements `Engine.dropSite`. @param pause lets others write between two chunks */
export async function deleteSiteInChunks(
  site: number,
  deleteChunk: (site: number, table: TableName) => Promise<boolean>,
  pause: () => Promise<void>,
): Promise<void> {
  for (const table of siteTables) while (await deleteChunk(site, table)) await pause();
}

/**
 * Returns a statement that deletes a site's rows selected by `which`, and returns a row for each. It compares whole keys, without a separate
 * condition for the site. With one, PostgreSQL would compare every row of the site with every row to delete if the site has more rows than its
 * statistics say. For `idempotency`, the key includes the time, because PostgreSQL may use the index of times.
 */
export function deleteSome(table: TableName, site: string, which: string): string {
  const key = [...primaryKeyOf(table), ...(table === "idempotency" ? ["at"] : [])].join(", ");
  return `delete from ${table} where (${key}) in (select ${key} from ${table} where site_id = ${site} ${which}) returning 1`;
}

export function* startSiteImport(site: number, epoch: string): Transaction<void> {
  const [row] = yield* lockSite(site);
  // A site can only be imported before its first write.
  if (row && (row.revision > 0 || !isUsableEpoch(row.epoch))) throw siteNotImportingError();
  yield upsert("sites", [toSiteRow(site, { ...newSiteState(), epoch })]);
}

export function* importSiteChunk(site: number, epoch: string, chunk: RowChunk): Transaction<void> {
  const [row] = yield* lockSite(site);
  if (row?.epoch !== epoch) throw siteNotImportingError();
  yield storeDumped(chunk.table === "sites" ? "upsert" : "insert", chunk);
}

interface ImportCalls {
  startSiteImport(site: number, epoch: string): Promise<void>;
  importSiteChunk(site: number, epoch: string, chunk: RowChunk): Promise<void>;
}

/** Implements `Engine.importSiteRows`. @param pause lets others write between two chunks */
export async function importSiteInChunks(
  site: number,
  rows: AsyncIterable<DumpedRow>,
  calls: ImportCalls,
  pause: () => Promise<void>,
): Promise<void> {
  const epoch = newImportingEpoch();
  try {
    await calls.startSiteImport(site, epoch);
    for await (const chunk of toChunksWithNewEpochs(rows)) {
      await calls.importSiteChunk(site, epoch, chunk);
      await pause();
    }
  } catch (error) {
    throw isRejectedRow(error) ? invalidRowError(error) : error;
  }
}

/** Whether the database refused a row. The codes are SQLite's, and SQLSTATE classes 22 and 23. */
function isRejectedRow(error: unknown): boolean {
  return /^(SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)|2[23])/.test(String((error as { code?: unknown }).code));
}

function invalidRowError(cause: unknown): ProblemError {
  return new ProblemError("bad-request", "duplicate row, or a value that can't be stored", { cause });
}

/** For a site that was written to before its import, or has lost the epoch of this import since. */
function siteNotImportingError(): ProblemError {
  return new ProblemError(
    "conflict",
    "the site was written to or removed during the import, or the database was restored",
  );
}

type LockedSite = Pick<TableRow<"sites">, "revision" | "epoch" | "floor">;

function* lockSite(site: number): Transaction<readonly LockedSite[]> {
  const rows = yield queryForUpdate("select revision, epoch, floor from sites where id = :site", { site });
  return rows as unknown as readonly LockedSite[];
}
