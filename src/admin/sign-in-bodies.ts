// Requests to sign in that have not arrived yet. Each holds a connection of the few that the listener has, and their clients are unknown.

import { Refusal } from "../model/errors.ts";

/** Milliseconds in which a request to sign in must arrive. */
const maxWait = 1000;

/** How many are awaited at once. One that comes with its body, as nearly all do, is not awaited for longer than others take to come. */
const maxAwaited = 16;

/** Waits for the bodies of requests to sign in, but never for long. */
export class SignInBodies {
  /** Ends the wait for each, the longest awaited first. */
  readonly #ends = new Set<() => void>();

  /**
   * Waits for a body until it is late: after a second, or when too many others are awaited.
   * @throws Refusal `request-timeout`, or what `body` rejects with
   */
  async inTime<T>(body: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const end = () => {
      this.#ends.delete(end);
      reject(new Refusal("request-timeout", "the request did not arrive in time"));
    };
    const timer = setTimeout(end, maxWait);
    this.#ends.add(end);
    const [longest] = this.#ends;
    if (this.#ends.size > maxAwaited) longest?.();
    try {
      return await Promise.race([body, promise]);
    } finally {
      clearTimeout(timer);
      this.#ends.delete(end);
    }
  }
}
