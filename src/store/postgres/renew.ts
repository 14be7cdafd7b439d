import { randomText } from "../../lib/text.ts";
import type { Head } from "../../model/engine.ts";
import { systemSite } from "../../model/limits.ts";
import { isLiveEpoch } from "../database/site-state.ts";
import { commitStep, openConnection, step } from "./long-connections.ts";
import type { Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { toHead } from "./reads.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction-end.ts";

/** Implements `Engine.renewEpochs`. */
export async function renewHistories(primary: Primary): Promise<number> {
  const connection = await openConnection(primary);
  try {
    const [sites = []] = await step(connection, connection.script(`begin; ${sql.lockAllSites}`));
    const renewed = sites.filter(({ epoch }) => isLiveEpoch(epoch));
    for (const { id } of renewed) await step(connection, connection.query(sql.putEpoch, id, randomText(8)));
    await commitStep(connection);
    return renewed.filter(({ id }) => id !== systemSite).length;
  } finally {
    await connection.close();
  }
}

/** Implements `Engine.renewSite`. @param timeout the time limit of the pool, in milliseconds */
export function renewSite(pool: Pool, timeout: number, site: number, epoch: string): Promise<Head> {
  return pool.use(async (connection) => {
    const rows = await connection.script(`${sql.begin(timeout)}; ${sql.lockSite(site)}`);
    const head = toHead(rows.at(-1)?.[0], connection);
    if (head.epoch !== epoch) {
      await connection.script("rollback");
      return head;
    }
    const renewed = { ...head, epoch: randomText(8) };
    await connection.query(sql.putEpoch, site, renewed.epoch);
    // Reads wait for this commit, and must work without a standby, so it does not wait for one. The next write makes it durable too.
    await commitWithoutWait(connection);
    return renewed;
  });
}
