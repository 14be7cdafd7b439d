import type { Engine } from "../../model/engine.ts";

/**
 * Returns the revision of the last entry before a time; if none exists, the revision before the first entry. A binary search takes about 25
 * reads. It relies on times that never decrease from entry to entry.
 * @param at the time, in milliseconds since 1970
 */
export async function readRevisionBefore(
  engine: Pick<Engine, "readJournalPage">,
  site: number,
  at: number,
): Promise<number> {
  const { head, floor, entries } = await engine.readJournalPage(site, 0, 1);
  let [low, high] = [floor, head.revision];
  if (!entries[0] || entries[0].at >= at) return floor;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [entry] = (await engine.readJournalPage(site, middle - 1, 1)).entries;
    if (entry && entry.at < at) low = middle;
    else high = middle - 1;
  }
  return low;
}
