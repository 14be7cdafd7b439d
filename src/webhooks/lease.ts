// The lease: the right of one process to deliver a webhook for 25 s (contract section 12).
//
// One clock judges the end of a lease: that of the database (with SQLite, of the machine). This process measures the age of its lease on a clock that
// never goes back, from before its call to the database. So it never believes that it has a lease that has already ended.
//
// Each change of a webhook's state is a compare-and-set. It succeeds only if this process has the lease, and if cursor, number of rewinds and number
// of resumes are unchanged. So a process without the lease changes nothing, and no attempt undoes `webhook rewind` or `webhook resume`.
//
// A request is aborted one second before the lease ends, so that another process does not send the same page at the same time. A page is sent twice
// if its process was stopped for longer than its lease, did not get the response, or could not save the new cursor. The event ID and the body are
// the same both times.

import type { WebhookRef, WebhookState, WebhookStateUpdate, WebhookStore } from "../model/webhooks.ts";
import type { Clock } from "./clock.ts";

/** Milliseconds that a lease lasts (contract section 12). */
const leaseMs = 25_000;
/** Age in milliseconds from which a lease is renewed before a request. The remaining time is then longer than the maximum time of a request. */
const renewAfterMs = leaseMs / 3;
/** Milliseconds before the end of a lease in which no request is sent, and requests in flight are aborted. */
const safetyMarginMs = 1000;

/** Maximum attempts to release a lease while operators change the state. */
const maxReleaseAttempts = 10;

type LeaseEngine = Pick<WebhookStore, "acquireWebhookLease" | "compareAndSetWebhook">;

interface LeaseOptions {
  readonly engine: LeaseEngine;
  /** Identifies this process. */
  readonly holder: string;
  readonly clock: Clock;
}

/** Acquires the lease of a webhook. Returns undefined if another process has it, or the webhook was removed. */
export async function acquireLease(webhookRef: WebhookRef, options: LeaseOptions): Promise<WebhookLease | undefined> {
  // Taken before the call: on the clock of the database, the lease lasts at least `leaseMs` from now.
  const takenAt = options.clock.monotonicMs();
  const state = await options.engine.acquireWebhookLease(webhookRef, options.holder, leaseMs);
  return state && new WebhookLease(state, takenAt, options);
}

/**
 * The lease of this process on a webhook, with the state of the webhook. Until the lease ends, other processes change this state only to rewind or
 * resume the webhook.
 */
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

  /** Milliseconds in which a request may still be sent; 0 or less if it is too late. */
  get usableMs(): number {
    return this.#takenAt + leaseMs - safetyMarginMs - this.#options.clock.monotonicMs();
  }

  /** Renews the lease if a third of its time has passed. Returns whether this process still has the lease. The renewal reads the state again. */
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

  /** Changes the state, if this process has the lease and the webhook was neither rewound nor resumed. Returns whether the state was changed. */
  async update(update: WebhookStateUpdate): Promise<boolean> {
    const { engine, holder } = this.#options;
    const { cursor, rewinds, resumes } = this.#state;
    const isDone = await engine.compareAndSetWebhook(this.#state, { holder, cursor, rewinds, resumes }, update);
    if (isDone) this.#state = { ...this.#state, ...update };
    return isDone;
  }

  /**
   * Releases the lease, so that other processes can deliver the webhook at once, and applies `update` in the same change of the state. Does neither, and
   * returns false, if this process no longer has the lease, or the webhook was rewound or resumed.
   */
  release(update: WebhookStateUpdate = {}): Promise<boolean> {
    return this.update({ ...update, ...released });
  }

  /** Releases the lease even if the webhook was rewound or resumed: reads the state again, and changes nothing else in it. */
  async releaseAnyway(): Promise<void> {
    const { engine, holder } = this.#options;
    for (let attempt = 0; attempt < maxReleaseAttempts; attempt++) {
      const state = await engine.acquireWebhookLease(this.#state, holder, leaseMs);
      if (!state || (await engine.compareAndSetWebhook(state, { ...state, holder }, released))) return;
    }
  }
}

const released: WebhookStateUpdate = { holder: null, leaseUntil: 0 };

/**
 * When the next delivery of a webhook may start. `more`: at once. `done`: after the next change of its site. `later`: after the next scan, or after a
 * change of its site once the cool-down is over.
 */
export type NextDelivery = "more" | "done" | "later";

/** Refers to the lease, which is kept between two deliveries while there is more to deliver; undefined if this process has none. */
export interface LeaseRef {
  lease?: WebhookLease | undefined;
}

/**
 * Releases the lease, if there is one, and applies `update` to the state. If the webhook was rewound or resumed in between, releases the lease without
 * the update, and returns `more`. Otherwise returns `result`.
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

/** Releases a lease whose state may have been changed by others. The next delivery, in any process, acquires the lease and reads the state again. */
export async function releaseChangedLease(leaseRef: LeaseRef): Promise<NextDelivery> {
  const { lease } = leaseRef;
  leaseRef.lease = undefined;
  await lease?.releaseAnyway();
  return "more";
}
