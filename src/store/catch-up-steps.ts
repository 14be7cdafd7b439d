// In what steps a snapshot takes over the changes that it lacks.

import type { Head } from "../model/engine.ts";
import { systemSite } from "../model/system-site.ts";
import type { Snapshot } from "./memory/snapshot.ts";

/** Changes that are read and folded at once, at most: some milliseconds. */
const maxStep = 500;

/** Whether so many changes are missing in `snapshot` that they take several turns of the event loop. */
export function isFarBehind({ site, revision }: Snapshot, head: Head): boolean {
  return head.revision - revision > maxStep && site !== systemSite;
}

/** How many changes after `revision` to read at once. None after `head`: those may be a part of a transaction. */
export function stepTo(head: Head, revision: number): number {
  return Math.min(maxStep, head.revision - revision);
}
