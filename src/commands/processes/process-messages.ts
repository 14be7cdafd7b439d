// The messages between a server's processes. After an upgrade and SIGHUP, a parent from the previous version has children from the next. So messages
// can get new members, but existing ones must never change or disappear.

import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import type { MetricsSample } from "../../lib/metrics.ts";

/** Where a child listens. A worker also says what it found in the database. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Whether the worker created the database. */
  readonly isNew?: boolean | undefined;
  /** How many sites the worker serves. Undefined if the database couldn't be read. */
  readonly sites?: number | undefined;
}

export type MessageOfChild =
  | ({ readonly kind: "listening" } & Listening)
  /** A worker's metrics, in response to `sample`, or with `id` 0 before it exits. */
  | { readonly kind: "sample"; readonly id: number; readonly sample: MetricsSample }
  /** The admin process wants all workers' metrics. */
  | { readonly kind: "samples"; readonly id: number }
  /** The admin process asks all workers about a site's activity. */
  | { readonly kind: "ask"; readonly id: number; readonly question: ActivityQuestion }
  /** A worker's answer to `ask`. */
  | { readonly kind: "answer"; readonly id: number; readonly answer: ActivityAnswer };

export type MessageOfParent =
  /** Your successor is listening: accept no more connections, and exit. */
  | { readonly kind: "retire" }
  /** Send your metrics. With `isChecked`, also check whether you're ready. */
  | { readonly kind: "sample"; readonly id: number; readonly isChecked?: boolean }
  /** The response to `samples`. */
  | { readonly kind: "samples"; readonly id: number; readonly samples: readonly MetricsSample[] }
  /** A question from the admin process. */
  | { readonly kind: "ask"; readonly id: number; readonly question: ActivityQuestion }
  /** The workers' answers to `ask`; undefined for each worker that didn't respond. */
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly ActivityAnswer[] };

/** Requests to another process that have no response yet. */
export class PendingRequests<T> {
  readonly #waiting = new Map<number, (response: T | undefined) => void>();
  #last = 0;

  /** @returns the response, or undefined if none arrives in time */
  async request(send: (id: number) => void, timeoutMs: number): Promise<T | undefined> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    this.#waiting.set(id, resolve);
    try {
      send(id);
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  respond(id: number, response: T): void {
    this.#waiting.get(id)?.(response);
  }
}
