// Resolves where a webhook starts to deliver.

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { readCursorAt, readFeedPage } from "../../store/changes/feed.ts";
import { readRevisionBefore } from "../../store/changes/journal-pruning.ts";
import { parseCursor } from "../../store/database/cursor.ts";

/** With the next change, after a cursor, or with the first change at or after a time in milliseconds since 1970. */
export type DeliveryStart = "now" | { readonly cursor: string } | { readonly at: number };

/** A cursor and its epoch. */
export interface WebhookPosition {
  readonly cursor: string;
  readonly epoch: string;
}

/** @throws ProblemError `gone` if changes after `point` have been pruned, `bad-request` for an invalid cursor */
export async function resolveDeliveryStart(
  engine: Engine,
  site: number,
  point: DeliveryStart,
): Promise<WebhookPosition> {
  if (typeof point === "object" && "cursor" in point) return positionOf(engine, site, point.cursor);
  const [head] = (await engine.readHeads([site])) as [Head];
  const revision = point === "now" ? head.revision : await revisionAt(engine, site, point.at);
  return { cursor: await readCursorAt(engine, site, { ...head, revision }), epoch: head.epoch };
}

async function positionOf(engine: Engine, site: number, cursor: string): Promise<WebhookPosition> {
  const until = parseCursor(cursor).revision;
  const { head } = await readFeedPage(engine, site, {
    since: cursor,
    limit: 1,
    resources: new Set(),
    isCollapsed: false,
    until,
  });
  return { cursor, epoch: head.epoch };
}

/** The last revision before a time. @throws ProblemError `gone` if changes since then have been pruned */
async function revisionAt(engine: Engine, site: number, at: number): Promise<number> {
  const { floor, entries } = await engine.readJournalPage(site, 0, 1);
  const [first] = entries;
  if (floor > 0 && (!first || first.at > at)) {
    const begin = first ? `starts at ${new Date(first.at).toISOString()}` : "is empty";
    throw new ProblemError(
      "gone",
      `changes since ${new Date(at).toISOString()} have been pruned: the journal ${begin}`,
    );
  }
  return readRevisionBefore(engine, site, at);
}
