import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";

/** How many sites are looked at in one statement, and how many are deleted from in one transaction. */
const maxSitesPerSearch = 1000;
const maxSitesPerPortion = 50;

/**
 * Forgets responses as the engine's port says, round after round over the sites, since an index that leads with the time would have
 * no site in front. `timeout` is the pool's, in milliseconds.
 */
export function createExpirySweep(pool: Pool, timeout: number) {
  /** The last site of this round that was looked at, and those that have something to forget. */
  let last = -1;
  let due: number[] = [];
  /** Whether this round has found nothing so far. Where it did, there may be more: another process may have been in the way. */
  let isClean = true;

  /** Looks at the next sites. Returns whether there is more to do. */
  async function look(before: number): Promise<boolean> {
    const [sites = []] = await pool.read((connection) =>
      connection.script(sql.oldestResponses(last, maxSitesPerSearch)),
    );
    due = sites.filter(({ oldest }) => oldest !== null && oldest <= before).map(({ id }) => id);
    last = sites.at(-1)?.id ?? -1;
    const isMore = last >= 0 || !isClean;
    isClean = due.length === 0 && (last < 0 || isClean);
    return isMore;
  }

  return async (before: number, most: number): Promise<boolean> => {
    if (due.length === 0) {
      const isMore = await look(before);
      if (due.length === 0) return isMore;
    }
    const sites = due.slice(0, Math.min(maxSitesPerPortion, most));
    const share = Math.floor(most / sites.length);
    const deleted = await pool.use(async (connection) => {
      await connection.script(`${sql.begin(timeout)}; ${sql.waitForNothing}`);
      const rows = await connection.script(
        sites.map((site) => sql.deleteExpiredResponses(site, before, share)).join("; "),
      );
      await connection.script(sql.end);
      return rows.map(({ length }) => length);
    });
    const unfinished = sites.filter((_, i) => deleted[i] === share);
    due = [...due.slice(sites.length), ...unfinished];
    return true;
  };
}
