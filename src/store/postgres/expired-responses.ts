import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction-end.ts";

/** Sites that one statement searches, and sites that one transaction deletes from, at most. */
const maxSitesPerSearch = 1000;
const maxSitesPerPortion = 50;

/**
 * See `Engine.deleteExpiredResponses`. Goes through the sites in rounds: every index leads with the site, so none finds the
 * oldest responses of all sites. `timeout` is the pool's, in milliseconds.
 */
export function createExpirySweep(pool: Pool, timeout: number) {
  /** The last site that this round searched, and the sites with expired responses. */
  let last = -1;
  let due: number[] = [];
  /** Whether this round has found nothing so far. If it finds something, another round follows: another process may have locked some. */
  let isClean = true;

  /** Searches the next sites. Returns whether there is more to do. */
  async function search(before: number): Promise<boolean> {
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
      const isMore = await search(before);
      if (due.length === 0) return isMore;
    }
    const sites = due.slice(0, Math.min(maxSitesPerPortion, most));
    const share = Math.floor(most / sites.length);
    const deleted = await pool.use(async (connection) => {
      await connection.script(sql.begin(timeout));
      const deletions = sites.map((site) => sql.deleteExpiredResponses(site, before, share));
      const rows = await commitWithoutWait(connection, deletions.join("; "));
      return rows.map(({ length }) => length);
    });
    const unfinished = sites.filter((_, i) => deleted[i] === share);
    due = [...due.slice(sites.length), ...unfinished];
    return true;
  };
}
