import { siteTables } from "../removed-sites.ts";
import { connected, step } from "./bulk.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** Removes everything of a site but its number, as the engine's port says. */
export async function dropSite(primary: Primary, site: number): Promise<void> {
  const connection = await connected(primary);
  const run = (text: string) => step(connection, connection.script(text));
  try {
    for (const table of siteTables) {
      for (let isMore = true; isMore; ) {
        // To write to `sites` first keeps a restore from putting other tables in place before the end.
        const [deleted = []] = await run(`begin; ${sql.closeSite(site)}; ${sql.deletedSite(site)}`);
        if (deleted.length === 0) return void (await run("rollback"));
        const [dropped = []] = await run(`${sql.dropRows(table, site)}; ${sql.commit}`);
        isMore = dropped.length > 0;
      }
    }
  } finally {
    await connection.close();
  }
}
