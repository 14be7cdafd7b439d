import { randomText } from "../../lib/base62.ts";
import { systemSite } from "../../model/system-site.ts";
import { hasHistory } from "../site-fill.ts";
import { commitStep, openConnection, step } from "./bulk.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** See `Engine.renew`. */
export async function renewHistories(primary: Primary): Promise<number> {
  const connection = await openConnection(primary);
  try {
    const [sites = []] = await step(connection, connection.script(`begin; ${sql.lockAllSites}`));
    const renewed = sites.filter(({ epoch }) => hasHistory(epoch));
    for (const { id } of renewed) await step(connection, connection.query(sql.putEpoch, id, randomText(8)));
    await commitStep(connection);
    return renewed.filter(({ id }) => id !== systemSite).length;
  } finally {
    await connection.close();
  }
}
