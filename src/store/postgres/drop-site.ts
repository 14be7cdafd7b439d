import { siteTables } from "../removed-sites.ts";
import { connected, step } from "./bulk.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** Removes everything of a site but its number, as the engine's port says. */
export async function dropSite(primary: Primary, site: number): Promise<void> {
  const connection = await connected(primary);
  try {
    for (const table of siteTables) {
      for (let isMore = true; isMore; ) {
        const text = `begin; ${sql.closeSite(site)}; ${sql.dropRows(table, site)}; ${sql.commit}`;
        const [deleted = []] = await step(connection, connection.script(text));
        isMore = deleted.length > 0;
      }
    }
  } finally {
    await connection.close();
  }
}
