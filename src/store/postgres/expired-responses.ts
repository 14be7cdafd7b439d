import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitWithoutWait } from "./transaction.ts";

/** Maximum sites per search. */
const maxSitesPerSearch = 1000;
/** Maximum sites in a transaction that deletes responses. */
const maxSitesPerRound = 50;

/**
 * Creates `Engine.deleteExpiredResponses`. It searches all sites in rounds, a limited number per call, because every index starts with the site, so
 * none can find the oldest responses of all sites.
 * @param timeoutMs the pool's time limit, in milliseconds
 */
export function createExpiredResponseDeletion(pool: Pool, timeoutMs: number) {
  /** ID of the last site searched in this round; -1 before the first. */
  let last = -1;
  /** IDs of the sites with expired responses to delete. */
  let due: number[] = [];
  /** Whether this round has found nothing so far. If it did, another round follows, because another process may be deleting the same responses. */
  let isClean = true;

  /** Searches the next sites for expired responses. Returns whether there's more to do. */
  async function search(before: number): Promise<boolean> {
    const [sites = []] = await pool.read((connection) =>
      connection.script(sql.oldestResponses(last, maxSitesPerSearch)),
    );
    due = sites.filter(({ oldest }) => oldest !== null && oldest <= before).map(({ id }) => id);
    last = sites.at(-1)?.id ?? -1;
    const hasMore = last >= 0 || !isClean;
    isClean = due.length === 0 && (last < 0 || isClean);
    return hasMore;
  }

  return async (before: number, most: number): Promise<boolean> => {
    if (due.length === 0) {
      const hasMore = await search(before);
      if (due.length === 0) return hasMore;
    }
    const sites = due.slice(0, Math.min(maxSitesPerRound, most));
    const share = Math.floor(most / sites.length);
    const deleted = await pool.use(async (connection) => {
      await connection.script(sql.begin(timeoutMs));
      const deletions = sites.map((site) => sql.deleteExpiredResponses(site, before, share));
      const rows = await commitWithoutWait(connection, deletions.join("; "));
      return rows.map(({ length }) => length);
    });
    const unfinished = sites.filter((_, i) => deleted[i] === share);
    due = [...due.slice(sites.length), ...unfinished];
    return true;
  };
}
