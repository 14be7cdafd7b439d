// Parses options that name a point in a journal or feed: a revision, a cursor, a time or an age.

import { parseUtcTime } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import { type JournalPoint, resolveRevision } from "../../operator/journal/journal-entries.ts";
import type { PrunePoint } from "../../operator/journal/prune-journals.ts";
import type { DeliveryStart } from "../../operator/webhooks/delivery-start.ts";
import { isCursorLike } from "../../store/database/cursor.ts";
import { parseDuration, parseRevision } from "./options.ts";
import { UsageError } from "./usage-error.ts";

/**
 * Parses a revision, a time or an age.
 * @param name the option, for the error
 * @throws UsageError
 */
export function parsePoint(name: string, text: string): JournalPoint {
  if (/^[0-9]+$/.test(text)) return { revision: parseRevision(name, text) };
  const at = parseTimeOrAge(text);
  if (at !== undefined) return { at };
  throw new UsageError(
    `invalid ${name} \`${text}\`: use a revision (345), an age (90d) or a UTC time (2026-01-31 or 2026-01-31T12:00Z)`,
  );
}

/** Like `parsePoint`, but keeps an age as it is, because `journal prune` may count it from the newest entry instead of from now. */
export function parsePrunePoint(name: string, text: string): PrunePoint {
  return isAge(text) ? { age: parseDuration(text), now: Date.now() } : parsePoint(name, text);
}

/** The revision before the first change that `--since` selects: the first one after a revision, or at or after a time. */
export async function revisionSince(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? resolveRevision(engine, site, point) : point.revision;
}

/** The last revision that `--until` selects, including a change at exactly that revision or time. */
export async function revisionUntil(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? resolveRevision(engine, site, { at: point.at + 1 }) : point.revision;
}

/**
 * @param name the option, for the error
 * @throws UsageError
 */
export function parseDeliveryStart(name: string, text: string): DeliveryStart {
  if (text === "now") return "now";
  if (isCursorLike(text)) return { cursor: text };
  const at = parseTimeOrAge(text);
  if (at !== undefined) return { at };
  throw new UsageError(
    `invalid ${name} \`${text}\`: use a cursor from the feed, \`now\`, an age (90d) or a UTC time (2026-01-31 or 2026-01-31T12:00Z)`,
  );
}

function isAge(text: string): boolean {
  return /^[0-9]+[a-z]$/.test(text);
}

/** @returns milliseconds since 1970, or undefined if it's neither. @throws UsageError for an age over 100 years */
function parseTimeOrAge(text: string): number | undefined {
  return isAge(text) ? Date.now() - parseDuration(text) : parseUtcTime(text);
}
