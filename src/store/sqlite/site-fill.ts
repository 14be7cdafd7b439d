// Imports the rows of a new site in chunks; store/database/site-state.ts explains how.

import type { Database } from "bun:sqlite";
import type { DumpedRow, Head } from "../../model/engine.ts";
import {
  invalidRowError,
  mayFill,
  newImportingEpoch,
  newSiteState,
  siteNotImportingError,
  toSiteRow,
} from "../database/site-state.ts";
import { toChunksWithNewEpochs } from "../database/table-swap.ts";
import { pauseForOtherWriters } from "./chunks.ts";
import { completeSitesIn, fromSqlite, runInTransaction } from "./database.ts";
import { insertRows } from "./table-sets.ts";

/** Implements `Engine.importSiteRows`, on a connection that `open` opens. */
export async function fillSite(open: () => Database, site: number, rows: AsyncIterable<DumpedRow>): Promise<void> {
  const epoch = newImportingEpoch();
  const database = open();
  try {
    runInTransaction(database, () => begin(database, site, epoch));
    for await (const chunk of toChunksWithNewEpochs(rows)) {
      runInTransaction(database, () => {
        const { changes } = database
          .query("update sites set epoch = epoch where id = ? and epoch = ?")
          .run(site, epoch);
        if (changes === 0) throw siteNotImportingError();
        if (chunk.table === "sites") database.query("delete from sites where id = ?").run(site);
        insertRows(database, chunk);
        if (chunk.table === "sites") completeSitesIn(database, { site });
      });
      await pauseForOtherWriters();
    }
  } catch (error) {
    throw isUnfit(error) ? invalidRowError(error) : fromSqlite(error);
  } finally {
    database.close();
  }
}

/** Gives the site the importing epoch `epoch`. @throws ProblemError `conflict` if the site was written to or removed */
function begin(database: Database, site: number, epoch: string): void {
  const found = database.query<Head, [number]>("select revision, epoch from sites where id = ?").get(site);
  if (!mayFill(found ?? undefined)) throw siteNotImportingError();
  database.query("delete from sites where id = ?").run(site);
  insertRows(database, { table: "sites", rows: [toSiteRow(site, { ...newSiteState(), epoch })] });
}

/** Whether SQLite has rejected a row. */
function isUnfit(error: unknown): boolean {
  return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(String((error as { code?: unknown }).code));
}
