// A lease lets one process deliver a webhook for 25 s (contract section 12).
//
// Only the database's clock decides when a lease ends (with SQLite, the machine's). The process measures its lease's age on a clock that never goes back,
// starting before the call to the database, so it never thinks that it holds an expired lease.
//
// Every change to a webhook's state is a compare-and-set, which only succeeds if this process has the lease and nobody has changed the cursor or the
// counts of rewinds and resumes. So a process without the lease can't change anything, and no attempt can undo `webhook rewind` or `webhook resume`.
//
// Requests are aborted one second before the lease ends, so that two processes don't send the same page at the same time. A page is only sent twice if its
// process was stopped for longer than its lease, didn't get the response, or couldn't save the new cursor. Both times, it has the same event ID and body.

import type { WebhookRef, WebhookState, WebhookStateUpdate, WebhookStore } from "../model/webhooks.ts";
import type { Clock } from "./clock.ts";

/** Contract section 12. */
const leaseMs = 25_000;
/** An older lease is renewed before a request. What's left of a younger one is enough for any request. */
const renewAfterMs = leaseMs / 3;
/** How long before the end of a lease we stop sending requests and abort those in flight. */
const safetyMarginMs = 1000;

/** For when operators keep changing the state. */
const maxReleaseAttempts = 10;

type LeaseEngine = Pick<WebhookStore, "acquireWebhookLease" | "compareAndSetWebhook">;

interface LeaseOptions {
  readonly engine: LeaseEngine;
  /** Identifies this process. */
  readonly holder: string;
  readonly clock: Clock;
}

/** @returns undefined if another process has the lease, or the webhook was removed */
export async function acquireLease(webhookRef: WebhookRef, options: LeaseOptions): Promise<WebhookLease | undefined> {
  // Before the call, so that on the database's clock, the lease lasts at least `leaseMs` from here.
  const takenAt = options.clock.monotonicMs();
  const state = await options.engine.acquireWebhookLease(webhookRef, options.holder, leaseMs);
  return state && new WebhookLease(state, takenAt, options);
}

/** This process's lease, and the webhook's state. Until the lease ends, others only change the state to rewind or resume the webhook. */
export class WebhookLease {
  #state: WebhookState;
  #takenAt: number;
  readonly #options: LeaseOptions;

  constructor(state: WebhookState, takenAt: number, options: LeaseOptions) {
    this.#state = state;
    this.#takenAt = takenAt;
    this.#options = options;
  }

  get state(): WebhookState {
    return this.#state;
  }

  /** How long requests can still be sent; 0 or less if it's too late. */
  get usableMs(): number {
    return this.#takenAt + leaseMs - safetyMarginMs - this.#options.clock.monotonicMs();
  }

  /** Renews the lease and rereads the state once a third of its time is over. @returns whether this process still has the lease */
  async renew(): Promise<boolean> {
    const { clock, engine, holder } = this.#options;
    const takenAt = clock.monotonicMs();
    if (takenAt - this.#takenAt < renewAfterMs) return true;
    const state = await engine.acquireWebhookLease(this.#state, holder, leaseMs);
    if (!state) return false;
    this.#state = state;
    this.#takenAt = takenAt;
    return true;
  }

  /** @returns false if this process no longer has the lease, or the webhook was rewound or resumed; nothing has changed then */
  async update(update: WebhookStateUpdate): Promise<boolean> {
    const { engine, holder } = this.#options;
    const { cursor, rewinds, resumes } = this.#state;
    const isDone = await engine.compareAndSetWebhook(this.#state, { holder, cursor, rewinds, resumes }, update);
    if (isDone) this.#state = { ...this.#state, ...update };
    return isDone;
  }

  /** Releases the lease in the same change that applies `update`, so that other processes can deliver immediately. @returns like `update` */
  release(update: WebhookStateUpdate = {}): Promise<boolean> {
    return this.update({ ...update, ...released });
  }

  /** Even if the webhook was rewound or resumed. */
  async releaseAnyway(): Promise<void> {
    const { engine, holder } = this.#options;
    for (let attempt = 0; attempt < maxReleaseAttempts; attempt++) {
      const state = await engine.acquireWebhookLease(this.#state, holder, leaseMs);
      if (!state || (await engine.compareAndSetWebhook(state, { ...state, holder }, released))) return;
    }
  }
}

const released: WebhookStateUpdate = { holder: null, leaseUntil: 0 };

/** When a webhook's next delivery may start. `more`: right away. `done`: after a change. `later`: after a scan, or a change once the cool-down is over. */
export type NextDelivery = "more" | "done" | "later";

/** Keeps the lease between deliveries while there's more to deliver; undefined if this process has none. */
export interface LeaseRef {
  lease?: WebhookLease | undefined;
}

/**
 * Releases the lease, if there is one, and applies `update`.
 * @returns `result`, or `more` if the webhook was rewound or resumed in between, so that the update wasn't applied
 */
export async function releaseLease(
  leaseRef: LeaseRef,
  result: NextDelivery,
  update?: WebhookStateUpdate,
): Promise<NextDelivery> {
  const { lease } = leaseRef;
  leaseRef.lease = undefined;
  if (!lease || (await lease.release(update))) return result;
  await lease.releaseAnyway();
  return "more";
}

/** For when others may have changed the state, so that the next delivery, in whichever process, reads it again. */
export async function releaseChangedLease(leaseRef: LeaseRef): Promise<NextDelivery> {
  const { lease } = leaseRef;
  leaseRef.lease = undefined;
  await lease?.releaseAnyway();
  return "more";
}
