// Delivers the next event of a webhook: acquires the lease, prepares the event, and makes at most one attempt per call.

import { yieldToEventLoop } from "../lib/yielding.ts";
import type { Resource } from "../model/resource.ts";
import type { ServedWebhook, SystemSiteIndex } from "../system/system-site-index.ts";
import { type AttemptDependencies, attemptDelivery } from "./delivery-attempt.ts";
import {
  acquireLease,
  type LeaseRef,
  type NextDelivery,
  releaseChangedLease,
  releaseLease,
  type WebhookLease,
} from "./lease.ts";
import { prepareNextEvent } from "./next-event.ts";
import { isBackingOff } from "./retry-policy.ts";

export interface DeliveryDependencies extends AttemptDependencies {
  readonly index: SystemSiteIndex;
  /** Catches up the index with the system site. */
  readonly catchUpIndex: () => Promise<unknown>;
  /** Returns how often an operator had resumed a webhook, or changed its URL, as of the last scan; undefined for an unknown webhook. */
  readonly knownResumes: (webhook: number) => number | undefined;
  /** The resources by name. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Identifies this process. */
  readonly holder: string;
}

/**
 * Acquires or renews the lease of the webhook, and makes at most one attempt. Keeps the lease in `leaseRef` if there is more to deliver; otherwise
 * releases it.
 * @param stop aborts the attempt
 */
export async function deliverNext(
  id: number,
  leaseRef: LeaseRef,
  dependencies: DeliveryDependencies,
  stop: AbortSignal,
): Promise<NextDelivery> {
  const { index, catchUpIndex, knownResumes, engine, clock } = dependencies;
  await catchUpIndex();
  const webhook = index.findActive(id);
  if (!webhook) return releaseLease(leaseRef, "later");
  const lease = await acquireOrRenewLease(webhook, leaseRef, dependencies);
  if (!lease) return "later";
  const { state } = lease;
  // An operator has resumed the webhook, or changed its URL, perhaps after the index was read above.
  if (state.resumes !== knownResumes(id)) await catchUpIndex();
  if (index.findActive(id)?.url !== webhook.url) return releaseChangedLease(leaseRef);
  if (state.home !== (await engine.readDatabaseId()) || isBackingOff(state, clock.now()))
    return releaseLease(leaseRef, "later");
  // Yield: the leases of many webhooks are acquired together, and reading an event takes one or two milliseconds.
  await yieldToEventLoop();
  const next = await prepareNextEvent(lease, webhook, { ...dependencies, now: clock.now });
  if (next === "lost") return releaseChangedLease(leaseRef);
  if (next === "none") return releaseLease(leaseRef, "done");
  if (next === "skipped") return releaseLease(leaseRef, "later");
  if (lease.state.goneAt !== null) {
    // The rows of the site are perhaps being deleted, because a renewal of the sandbox has replaced the site after the index was read above.
    await catchUpIndex();
    if (index.findActive(id)?.site !== webhook.site) return releaseChangedLease(leaseRef);
  }
  return attemptDelivery(next, webhook, leaseRef, dependencies, stop);
}

/** Returns undefined if another process has the lease. */
async function acquireOrRenewLease(
  webhook: ServedWebhook,
  leaseRef: LeaseRef,
  { engine, holder, clock }: DeliveryDependencies,
): Promise<WebhookLease | undefined> {
  // The renewal of a sandbox has moved the webhook to another site, where it has another state.
  if (leaseRef.lease && leaseRef.lease.state.site !== webhook.site) await releaseChangedLease(leaseRef);
  const { lease } = leaseRef;
  const isRenewed = lease !== undefined && lease.usableMs > 0 && (await lease.renew());
  leaseRef.lease = isRenewed ? lease : await acquireLease(webhook, { engine, holder, clock });
  return leaseRef.lease;
}
