// Points of a journal: revisions and times.

import type { Engine } from "../../model/engine.ts";
import { readRevisionBefore } from "../../store/changes/revision-before.ts";

/** An entry, named by its revision, or the first entry at or after a time in milliseconds since 1970. */
export type JournalPoint = { readonly revision: number } | { readonly at: number };

/** Returns the revision of the last entry before `point`. */
export async function resolveRevision(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? readRevisionBefore(engine, site, point.at) : Math.max(0, point.revision - 1);
}
