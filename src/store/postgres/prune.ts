import { lastPrunable, removedEpoch } from "../database/site-state.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction-end.ts";

/** Implements `Engine.pruneJournal`. @param timeout the time limit of the pool, in milliseconds */
export function prune(pool: Pool, timeout: number, site: number, through: number, most: number): Promise<boolean> {
  return pool.use(async (connection) => {
    // The lock makes commits to the site, and a restore, wait until the end of this transaction.
    const locked = await connection.script(`${sql.begin(timeout)}; ${sql.floor(site)} for update`);
    const row = locked.at(-1)?.[0];
    const end = lastPrunable(through, row?.revision ?? 0);
    if (!row || row.epoch === removedEpoch || row.floor >= end) {
      await connection.script("rollback");
      return false;
    }
    const floor = Math.min(end, row.floor + most);
    await commitWithoutWait(connection, `${sql.deleteEntries(site, floor)}; ${sql.setFloor(site, floor)}`);
    return floor < end;
  });
}
