import type { Change } from "../model/change.ts";
import type { Head, SinceOptions } from "../model/engine.ts";

/**
 * What `Engine.since` answers: `changes`, read together with `head`, if they follow on `revision` without a gap and are of
 * the history that was asked for; otherwise undefined.
 */
export function following(
  changes: readonly Change[],
  head: Head,
  revision: number,
  { epoch }: SinceOptions,
): readonly Change[] | undefined {
  if (epoch !== undefined && head.epoch !== epoch) return undefined;
  const next = head.revision > revision ? revision + 1 : undefined;
  return changes[0]?.revision === next ? changes : undefined;
}
