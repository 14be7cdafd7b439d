// What the processes of one server send to each other. After an upgrade, a parent of the previous version works with children of the next one
// (SIGHUP), so a message may gain members, but none may change or go away.

import type { MetricsSample } from "../lib/metric-samples.ts";

/** Where a child listens; of a worker, what it found in the database. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Whether it created the database. */
  readonly isNew?: boolean | undefined;
  /** The sites that it serves; undefined if the database could not be read. */
  readonly sites?: number | undefined;
}

export type MessageOfChild =
  | ({ readonly kind: "listening" } & Listening)
  /** The metrics of a worker: in response to `sample`, or with `id` 0 before it ends. */
  | { readonly kind: "sample"; readonly id: number; readonly sample: MetricsSample }
  /** The admin process needs the metrics of all workers. */
  | { readonly kind: "samples"; readonly id: number };

export type MessageOfParent =
  /** A successor listens: accept no more connections, and end. */
  | { readonly kind: "retire" }
  | { readonly kind: "sample"; readonly id: number; readonly isChecked?: boolean }
  | { readonly kind: "samples"; readonly id: number; readonly samples: readonly MetricsSample[] };

/** Requests to another process that wait for its response. */
export class PendingRequests<T> {
  readonly #waiting = new Map<number, (response: T | undefined) => void>();
  #last = 0;

  /** Sends a request under a new ID. Returns the response, or undefined if there is none after so many milliseconds. */
  async request(send: (id: number) => void, timeout: number): Promise<T | undefined> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const timer = setTimeout(() => resolve(undefined), timeout);
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
