// The messages between the processes of one server. After an upgrade and SIGHUP, a parent of the previous program version works with children of the
// next one. So a message may get new members, but no member may change or disappear.

import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import type { MetricsSample } from "../../lib/metrics.ts";

/** The address at which a child listens. A worker also says what it found in the database. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Whether the worker created the database. */
  readonly isNew?: boolean | undefined;
  /** The number of sites that the worker serves. Undefined if the database could not be read. */
  readonly sites?: number | undefined;
}

/** A message of a child to its parent. */
export type MessageOfChild =
  | ({ readonly kind: "listening" } & Listening)
  /** The metrics of a worker: in response to `sample`, or with `id` 0 before the worker exits. */
  | { readonly kind: "sample"; readonly id: number; readonly sample: MetricsSample }
  /** The admin process requests the metrics of all workers. */
  | { readonly kind: "samples"; readonly id: number }
  /** The admin process asks all workers about the activity of a site. */
  | { readonly kind: "ask"; readonly id: number; readonly question: ActivityQuestion }
  /** The answer of a worker to `ask`. */
  | { readonly kind: "answer"; readonly id: number; readonly answer: ActivityAnswer };

/** A message of the parent to a child. */
export type MessageOfParent =
  /** The successor listens. Accept no more connections, and exit. */
  | { readonly kind: "retire" }
  /** Asks for the metrics. With `isChecked`, the child also checks whether it is ready. */
  | { readonly kind: "sample"; readonly id: number; readonly isChecked?: boolean }
  /** The metrics of all workers: the response to `samples`. */
  | { readonly kind: "samples"; readonly id: number; readonly samples: readonly MetricsSample[] }
  /** A question of the admin process for a worker. */
  | { readonly kind: "ask"; readonly id: number; readonly question: ActivityQuestion }
  /** The answers of the workers to `ask`; undefined for a worker that does not respond. */
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly ActivityAnswer[] };

/** Requests to another process that were sent, and have no response yet. */
export class PendingRequests<T> {
  readonly #waiting = new Map<number, (response: T | undefined) => void>();
  #last = 0;

  /** Sends a request with a new ID. Returns the response, or undefined if none arrives in time. */
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
