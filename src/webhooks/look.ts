// What is stored of the webhooks that may be delivered here, read in portions with a turn of the event loop after each.

import { nextTurn } from "../lib/pace.ts";
import type { Head } from "../model/engine.ts";
import type { WebhookState } from "../model/webhooks.ts";
import type { RunnerEngine } from "./attempt.ts";
import { isWaiting } from "./decide.ts";
import { cursorRevision } from "./event.ts";
import type { LastSent } from "./last-sent.ts";
import type { ActiveWebhook } from "./records.ts";

/** Webhooks or sites that are read at once: about a millisecond. */
const portion = 200;

/** What the last look found of a webhook. */
export interface SeenWebhook {
  readonly state: WebhookState;
  /** The end of the journal of its site. */
  readonly head: Head;
}

/** The webhooks of `active` that may deliver in this database, by ID. */
export async function lookAt(
  active: readonly ActiveWebhook[],
  engine: Pick<RunnerEngine, "databaseIdentity" | "webhookStates" | "heads">,
): Promise<ReadonlyMap<number, SeenWebhook>> {
  if (active.length === 0) return new Map();
  const home = await engine.databaseIdentity();
  const states = (await inPortions(active, (some) => engine.webhookStates(some))).filter(
    (state) => state.home === home,
  );
  const sites = [...new Set(states.map(({ site }) => site))];
  const all = await inPortions(sites, (some) => engine.heads(some));
  const heads = new Map(sites.map((site, index) => [site, all[index] as Head]));
  return new Map(states.map((state) => [state.webhook, { state, head: heads.get(state.site) as Head }]));
}

/** Whether there may be something to deliver now. @param now milliseconds since 1970 */
export function isDue({ state, head }: SeenWebhook, now: number, lastSent: LastSent): boolean {
  if (isWaiting(state, now)) return false;
  if (lastSent.isAhead(state)) return true;
  const { epoch, cursor, isGone, first } = state;
  return (
    isGone === 1 || first > 0 || (epoch !== "" && epoch !== head.epoch) || cursorRevision(cursor) !== head.revision
  );
}

async function inPortions<T, R>(
  values: readonly T[],
  read: (some: readonly T[]) => readonly R[] | Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < values.length; i += portion) {
    found.push(...(await read(values.slice(i, i + portion))));
    // Reads of SQLite take no turn of the event loop.
    await nextTurn();
  }
  return found;
}
