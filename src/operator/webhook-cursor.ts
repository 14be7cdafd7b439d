import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { cursorAt, readFeed } from "../store/feed.ts";
import { parseCursor } from "../store/feed-cursor.ts";
import { revisionBefore } from "../store/retention.ts";

/** Where a webhook begins: with the next change, after a cursor, or with the first change at or after a time in milliseconds since 1970. */
export type WebhookPoint = "now" | { readonly cursor: string } | { readonly at: number };

/** A cursor, and the history that it belongs to. */
export interface WebhookPosition {
  readonly cursor: string;
  readonly epoch: string;
}

/** @throws Refusal `gone` when the changes after `point` are not all there, `bad-request` when it is no cursor */
export async function positionAt(engine: Engine, site: number, point: WebhookPoint): Promise<WebhookPosition> {
  if (typeof point === "object" && "cursor" in point) return positionOf(engine, site, point.cursor);
  const [head] = (await engine.heads([site])) as [Head];
  const revision = point === "now" ? head.revision : await revisionAt(engine, site, point.at);
  return { cursor: await cursorAt(engine, site, { ...head, revision }), epoch: head.epoch };
}

async function positionOf(engine: Engine, site: number, cursor: string): Promise<WebhookPosition> {
  const until = parseCursor(cursor).revision;
  const { head } = await readFeed(engine, site, {
    since: cursor,
    limit: 1,
    resources: new Set(),
    isCollapsed: false,
    until,
  });
  return { cursor, epoch: head.epoch };
}

/** The revision of the last change before a time. @throws Refusal `gone` when changes since that time were pruned */
async function revisionAt(engine: Engine, site: number, at: number): Promise<number> {
  const { floor, entries } = await engine.journal(site, 0, 1);
  const [first] = entries;
  if (floor > 0 && (!first || first.at > at)) {
    const begin = first ? `begins at ${new Date(first.at).toISOString()}` : "is empty";
    throw new Refusal("gone", `changes since ${new Date(at).toISOString()} were pruned: the journal ${begin}`);
  }
  return revisionBefore(engine, site, at);
}
