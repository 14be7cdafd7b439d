// One turn of a webhook: at most one attempt of one event.

import { nextTurn } from "../lib/pace.ts";
import type { Resource } from "../model/resource.ts";
import { type AttemptDependencies, attempt } from "./attempt.ts";
import { isWaiting } from "./decide.ts";
import { forgetHeld, type HeldLease, releaseHeld, type TurnResult, takeLease, type WebhookLease } from "./lease.ts";
import { nextEvent } from "./next-event.ts";
import type { ActiveWebhook, WebhookRecords } from "./records.ts";

export interface TurnDependencies extends AttemptDependencies {
  readonly records: WebhookRecords;
  /** Brings `records` up to date. */
  readonly refresh: () => Promise<unknown>;
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Identifies this process. */
  readonly holder: string;
}

/**
 * Takes a turn. Keeps the lease in `held` if there is more to deliver, otherwise releases it.
 * @param stop aborts the attempt
 */
export async function takeTurn(
  id: number,
  held: HeldLease,
  dependencies: TurnDependencies,
  stop: AbortSignal,
): Promise<TurnResult> {
  const { records, refresh, engine, clock } = dependencies;
  await refresh();
  const webhook = records.active(id);
  if (!webhook) return releaseHeld(held, "later");
  const lease = await leaseOf(webhook, held, dependencies);
  if (!lease) return "later";
  const { state } = lease;
  if (state.home !== (await engine.databaseIdentity()) || isWaiting(state, clock.now()))
    return releaseHeld(held, "later");
  // The claims of many webhooks come back together. To read an event takes a millisecond or two.
  await nextTurn();
  const next = await nextEvent(lease, webhook, { ...dependencies, now: clock.now });
  if (next === "lost") return forgetHeld(held);
  if (next === "none") return releaseHeld(held, "done");
  if (next === "skipped") return releaseHeld(held, "later");
  return attempt(next, webhook, held, dependencies, stop);
}

/** Undefined when another process has the lease. */
async function leaseOf(
  webhook: ActiveWebhook,
  held: HeldLease,
  { engine: store, holder, clock }: TurnDependencies,
): Promise<WebhookLease | undefined> {
  const { lease } = held;
  const isHeld = lease !== undefined && lease.left > 0 && (await lease.renew());
  held.lease = isHeld ? lease : await takeLease(webhook, { store, holder, clock });
  return held.lease;
}
