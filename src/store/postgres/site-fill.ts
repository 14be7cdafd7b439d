// Imports the rows of a new site in chunks; store/database/site-state.ts explains how.

import type { DumpedRow, Head } from "../../model/engine.ts";
import {
  invalidRowError,
  mayFill,
  newImportingEpoch,
  newSiteState,
  siteNotImportingError,
  toSiteRow,
} from "../database/site-state.ts";
import { type RowChunk, toChunksWithNewEpochs } from "../database/table-swap.ts";
import type { PostgresConnection } from "./connection.ts";
import { codeOf } from "./errors.ts";
import { commitStep, openConnection, step } from "./long-connections.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** Implements `Engine.importSiteRows`. */
export async function fillSite(primary: Primary, site: number, rows: AsyncIterable<DumpedRow>): Promise<void> {
  const epoch = newImportingEpoch();
  const first: RowChunk = { table: "sites", rows: [toSiteRow(site, { ...newSiteState(), epoch })] };
  const connection = await openConnection(primary);
  try {
    await store(connection, site, mayFill, first);
    const isOwn = (found?: Head) => found?.epoch === epoch;
    for await (const chunk of toChunksWithNewEpochs(rows)) await store(connection, site, isOwn, chunk);
  } catch (error) {
    throw /^2[23]/.test(codeOf(error)) ? invalidRowError(error) : error;
  } finally {
    await connection.close();
  }
}

/** Stores one chunk in one transaction. @param isFit whether the site may be imported, given its row, which is locked */
async function store(
  connection: PostgresConnection,
  site: number,
  isFit: (found: Head | undefined) => boolean,
  { table, rows }: RowChunk,
): Promise<void> {
  // The lock prevents that a restore replaces the tables, or that `dropSite` deletes rows, before the commit.
  const [[found] = []] = await step(connection, connection.script(`begin; ${sql.lockSites([site])}`));
  if (!isFit(found as Head | undefined)) throw siteNotImportingError();
  await step(connection, connection.query(table === "sites" ? sql.putSites : sql.insert(table), rows));
  if (table === "sites") await step(connection, connection.script(sql.completeSites({ site })));
  await commitStep(connection);
}
