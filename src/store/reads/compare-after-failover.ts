// Finds out whether a database that was promoted has the changes that a snapshot has. After a failover, it may lack the last commits of a site, and have
// other commits with the same revisions. Each promotion of a standby starts a new timeline. Before a snapshot is used on a new timeline, its last change is
// compared with the stored entry of the same revision, by the digests in their feed cursors. snapshot-cache.ts then keeps or evicts the snapshot.

import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { toCursor } from "../database/cursor.ts";
import type { Snapshot } from "../memory/snapshot.ts";

interface Comparison {
  readonly head: Head;
  /**
   * `same`: the database has the snapshot's last change. `lost`: the database has another change of that revision, or none. `unknown`: the entry
   * was pruned, the snapshot does not know its last change, or the epoch differs.
   */
  readonly finding: "same" | "lost" | "unknown";
}

/** Compares the last change of a snapshot with the database. */
export async function compareLastChange(
  engine: Pick<Engine, "readJournalPage">,
  snapshot: Snapshot,
): Promise<Comparison> {
  const { siteId, revision, epoch, last } = snapshot;
  const { head, floor, entries } = await engine.readJournalPage(siteId, Math.max(0, revision - 1), 1);
  const [entry] = entries;
  if (head.epoch !== epoch) return { head, finding: "unknown" };
  if (revision === 0) return { head, finding: "same" };
  if (head.revision < revision) return { head, finding: "lost" };
  if (!last || floor >= revision || entry?.revision !== revision) return { head, finding: "unknown" };
  // `last` may have the time and the actor too; then they are also compared.
  const isSame = toCursor(epoch, entry) === toCursor(epoch, { ...entry, ...last });
  return { head, finding: isSame ? "same" : "lost" };
}
