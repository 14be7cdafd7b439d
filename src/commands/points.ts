// Points of a journal as options have them.

import { parseTime } from "../lib/parse-time.ts";
import type { Engine } from "../model/engine.ts";
import { type JournalPoint, type PrunePoint, revisionOf } from "../operator/prune.ts";
import type { WebhookPoint } from "../operator/webhook-cursor.ts";
import { readDuration, readRevision, UsageError } from "./common.ts";

/** A revision, a time such as `2026-01-31` or `2026-01-31T12:00Z`, or an age such as `90d`. @throws UsageError */
export function readPoint(name: string, text: string): JournalPoint {
  if (/^[0-9]+$/.test(text)) return { revision: readRevision(name, text) };
  const at = readTime(text);
  if (at !== undefined) return { at };
  throw new UsageError(
    `invalid ${name} \`${text}\`: write a revision (345), an age (90d) or a time in UTC (2026-01-31 or 2026-01-31T12:00Z)`,
  );
}

/** The same for what is deleted, where an age counts from the newest entry if the clock is ahead of it. @throws UsageError */
export function readPrunePoint(name: string, text: string): PrunePoint {
  return isAge(text) ? { age: readDuration(text), now: Date.now() } : readPoint(name, text);
}

/** The revision after which the changes since `point` begin: those from a time on, and those after a revision. */
export async function revisionSince(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? revisionOf(engine, site, point) : point.revision;
}

/** The revision of the last change until `point`: that of a time or revision included. */
export async function revisionUntil(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? revisionOf(engine, site, { at: point.at + 1 }) : point.revision;
}

/** A cursor of the feed, `now`, or a time or age as above. @throws UsageError */
export function readWebhookPoint(name: string, text: string): WebhookPoint {
  if (text === "now") return "now";
  if (/^[0-9a-f]{1,32}\.[0-9]{1,16}$/.test(text)) return { cursor: text };
  const at = readTime(text);
  if (at !== undefined) return { at };
  throw new UsageError(
    `invalid ${name} \`${text}\`: write a cursor of the feed, \`now\`, an age (90d) or a time in UTC (2026-01-31 or 2026-01-31T12:00Z)`,
  );
}

function isAge(text: string): boolean {
  return /^[0-9]+[a-z]$/.test(text);
}

/** Milliseconds since 1970; undefined for a text that is neither a time nor an age. @throws UsageError for an age that is too long */
function readTime(text: string): number | undefined {
  if (isAge(text)) return Date.now() - readDuration(text);
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const at = parseTime(text);
  return Number.isNaN(at) ? undefined : at;
}
