// After a failover, a store may lack the last commits of a site and have others under the same numbers. Before a snapshot is used on a timeline
// on which that was not checked, the last change that it has is compared with the one that is stored, by its mark in the feed.

import type { Engine, Head } from "../model/engine.ts";
import { toCursor } from "./feed-cursor.ts";
import type { Snapshot } from "./memory/snapshot.ts";

interface Comparison {
  readonly head: Head;
  /** Whether the store has what the snapshot has, or lost some of it; `unknown` where it no longer has the entry, or has another history. */
  readonly finding: "same" | "lost" | "unknown";
}

/** Compares a snapshot with what is stored now. */
export async function compareWithStore(engine: Pick<Engine, "journal">, snapshot: Snapshot): Promise<Comparison> {
  const { site, revision, epoch, last } = snapshot;
  const { head, floor, entries } = await engine.journal(site, Math.max(0, revision - 1), 1);
  const [entry] = entries;
  if (head.epoch !== epoch) return { head, finding: "unknown" };
  if (revision === 0) return { head, finding: "same" };
  if (head.revision < revision) return { head, finding: "lost" };
  if (!last || floor >= revision || entry?.revision !== revision) return { head, finding: "unknown" };
  // Time and author of a change of this process are known, too.
  const isSame = toCursor(epoch, entry) === toCursor(epoch, { ...entry, ...last });
  return { head, finding: isSame ? "same" : "lost" };
}
