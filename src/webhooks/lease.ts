import type { WebhookChanges, WebhookKey, WebhookState, WebhookStore } from "../model/webhooks.ts";

/** Milliseconds (contract section 12). */
const leaseTime = 25_000;
/** Age from which on it is renewed before a request: what is left is longer than a request may take. */
const renewalAge = leaseTime / 3;
/** Milliseconds before its end in which nothing is sent any more, and requests are aborted. */
const margin = 1000;

/** How often a lease is released while an operator changes the state. */
const maxHandOvers = 10;

type LeaseStore = Pick<WebhookStore, "claimWebhook" | "updateWebhook">;

interface LeaseOptions {
  readonly store: LeaseStore;
  /** Identifies this process. */
  readonly holder: string;
  readonly clock: Clock;
}

/** Takes the lease of a webhook. Undefined when another process has it, or the webhook was removed. */
export async function takeLease(key: WebhookKey, options: LeaseOptions): Promise<WebhookLease | undefined> {
  // The lease lasts from its call on at least, on the clock of the database.
  const takenAt = options.clock.elapsed();
  const state = await options.store.claimWebhook(key, options.holder, leaseTime);
  return state && new WebhookLease(state, takenAt, options);
}

/** The right of this process to deliver a webhook, and the state of the webhook, which no other process changes meanwhile but to rewind or resume it. */
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

  /** Milliseconds in which a request may still be sent; 0 or less when there are none. */
  get left(): number {
    return this.#takenAt + leaseTime - margin - this.#options.clock.elapsed();
  }

  /** Renews it if a third of its time has passed. Returns whether this process has it still. The state may be another one then. */
  async renew(): Promise<boolean> {
    const { clock, store, holder } = this.#options;
    const takenAt = clock.elapsed();
    if (takenAt - this.#takenAt < renewalAge) return true;
    const state = await store.claimWebhook(this.#state, holder, leaseTime);
    if (!state) return false;
    this.#state = state;
    this.#takenAt = takenAt;
    return true;
  }

  /** Changes the state, if this process has the lease and the webhook was neither rewound nor resumed. Returns whether it did. */
  async update(changes: WebhookChanges): Promise<boolean> {
    const { store, holder } = this.#options;
    const { cursor, rewinds, resumes } = this.#state;
    const isDone = await store.updateWebhook(this.#state, { holder, cursor, rewinds, resumes }, changes);
    if (isDone) this.#state = { ...this.#state, ...changes };
    return isDone;
  }

  /** Lets other processes deliver the webhook at once, and makes `changes` in the same step. Returns whether that was possible, as for `update`. */
  release(changes: WebhookChanges = {}): Promise<boolean> {
    return this.update({ ...changes, ...released });
  }

  /** Lets other processes deliver the webhook at once, whatever its state is by now. */
  async handOver(): Promise<void> {
    const { store, holder } = this.#options;
    for (let attempt = 0; attempt < maxHandOvers; attempt++) {
      const state = await store.claimWebhook(this.#state, holder, leaseTime);
      if (!state || (await store.updateWebhook(state, { ...state, holder }, released))) return;
    }
  }
}

const released: WebhookChanges = { holder: null, leaseUntil: 0 };

/**
 * What follows from a turn of a webhook: `more` to deliver, at once; `done`: nothing until the site changes; `later`: nothing until the state
 * is read again.
 */
export type TurnResult = "more" | "done" | "later";

/** A lease that is kept between the turns of a webhook while there is more to deliver. */
export interface HeldLease {
  lease?: WebhookLease | undefined;
}

/** Releases the lease, if there is one, with `changes` of the state. Returns `result`, or `more` if the webhook was rewound or resumed meanwhile. */
export async function releaseHeld(held: HeldLease, result: TurnResult, changes?: WebhookChanges): Promise<TurnResult> {
  const { lease } = held;
  held.lease = undefined;
  if (!lease || (await lease.release(changes))) return result;
  await lease.handOver();
  return "more";
}

/** Gives up a lease whose state is another one by now. The next turn of any process claims it anew. */
export async function forgetHeld(held: HeldLease): Promise<TurnResult> {
  const { lease } = held;
  held.lease = undefined;
  await lease?.handOver();
  return "more";
}

/** Time as the runner sees it. The simulation in the tests has its own. */
export interface Clock {
  /** Milliseconds since 1970. May be set back or forward. */
  now(): number;
  /** Milliseconds since some moment. Never goes back. */
  elapsed(): number;
  /** Calls `callback` after so many milliseconds. Returns what cancels it. Does not keep the process alive. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
