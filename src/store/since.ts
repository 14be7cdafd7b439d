import type { Change } from "../model/change.ts";
import type { Head, SinceOptions } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";

/**
 * The result of `Engine.since`: `changes`, read together with `head`, if they follow `revision` without a gap and belong to
 * the requested history; otherwise undefined.
 */
export function following(
  changes: readonly Change[],
  head: Head,
  revision: number,
  { epoch, timeline }: SinceOptions,
): readonly Change[] | undefined {
  if (epoch !== undefined && head.epoch !== epoch) return undefined;
  if (timeline !== undefined && head.timeline !== timeline) return undefined;
  const next = head.revision > revision ? revision + 1 : undefined;
  return changes[0]?.revision === next ? changes : undefined;
}

/** The code in the cause of the refusal of `requireReached`. */
export const outdated = "OUTDATED";

/**
 * Checks that a store is not behind what is known of it, as a replaced primary is. Revisions of another history cannot be
 * compared, and pass.
 * @throws Refusal `unavailable`
 */
export function requireReached(found: Head, least: Head | undefined): void {
  if (least === undefined || found.epoch !== least.epoch || found.revision >= least.revision) return;
  const detail = `the store is behind what is known of it: revision ${found.revision} of a site, where ${least.revision} is known`;
  throw new Refusal("unavailable", detail, { retryAfter: 1, cause: { code: outdated } });
}

/** Whether nothing has changed between two heads, and no machine has taken over that may lack what was there. */
export function isSameHead(one: Head, other: Head): boolean {
  return one.epoch === other.epoch && one.revision === other.revision && one.timeline === other.timeline;
}
