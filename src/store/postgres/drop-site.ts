import { newSiteState, removedEpoch, siteTables, toSiteRow } from "../database/site-state.ts";
import { commitStep, openConnection, step } from "./long-connections.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** Implements `Engine.dropSite`. */
export async function dropSite(primary: Primary, site: number): Promise<void> {
  const connection = await openConnection(primary);
  const run = (text: string) => step(connection, connection.script(text));
  const removed = toSiteRow(site, { ...newSiteState(), epoch: removedEpoch });
  try {
    for (const table of siteTables) {
      for (let hasMore = true; hasMore; ) {
        // A lock on a row of `sites` prevents a restore from replacing the tables before the commit.
        await run("begin");
        await step(connection, connection.query(sql.putSites, [removed]));
        const [deleted = []] = await run(sql.deletedSite(site));
        if (deleted.length === 0) return void (await run("rollback"));
        const [dropped = []] = await commitStep(connection, sql.dropRows(table, site));
        hasMore = dropped.length > 0;
      }
    }
  } finally {
    await connection.close();
  }
}
