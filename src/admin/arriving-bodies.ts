// Bodies of requests that have not arrived yet. Each holds a connection of the few that the listener has.

import { Refusal } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/** Of one operator: more than a browser opens connections to a server. */
const maxOfOperator = 8;

/** How many bodies of each operator are awaited. */
export class ArrivingBodies {
  readonly #counts = new Map<number, number>();

  /** Waits for the body of a request of an operator. @throws Refusal `too-many-requests`, RequestError */
  async await(operator: number, request: WireRequest): Promise<void> {
    const body = request.body();
    if (!(body instanceof Promise)) return;
    const count = this.#counts.get(operator) ?? 0;
    if (count >= maxOfOperator) {
      // The response drops it, so nobody else learns how it ends.
      body.catch(() => {});
      const detail = `${count} requests of this operator are being sent already; try again when they have arrived`;
      throw new Refusal("too-many-requests", detail, { retryAfter: 5 });
    }
    this.#counts.set(operator, count + 1);
    try {
      await body;
    } finally {
      this.#leave(operator);
    }
  }

  #leave(operator: number): void {
    const left = (this.#counts.get(operator) ?? 1) - 1;
    if (left > 0) this.#counts.set(operator, left);
    else this.#counts.delete(operator);
  }
}
