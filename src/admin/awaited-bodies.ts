// Limits how many request bodies we wait for, because each takes one of the listener's few connections. Sign-in requests, whose clients we don't know yet,
// also have a time limit.

import { ProblemError } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/** More than a browser opens connections to a server. */
const maxOfOperator = 8;

/** Waits for the bodies of signed-in operators. */
export class OperatorBodies {
  readonly #counts = new Map<number, number>();

  /** @param operator ID. @throws ProblemError `too-many-requests`, RequestError */
  async waitForBody(operator: number, request: WireRequest): Promise<void> {
    if (request.receivedBody) return;
    const body = request.readBody();
    const count = this.#counts.get(operator) ?? 0;
    if (count >= maxOfOperator) {
      // The response discards the body, so nobody else handles its error.
      body.catch(() => {});
      const detail = `you're already sending ${count} requests; try again when they've arrived`;
      throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: 5 });
    }
    this.#counts.set(operator, count + 1);
    try {
      await body;
    } finally {
      this.#release(operator);
    }
  }

  #release(operator: number): void {
    const left = (this.#counts.get(operator) ?? 1) - 1;
    if (left > 0) this.#counts.set(operator, left);
    else this.#counts.delete(operator);
  }
}

const maxBodyWaitMs = 1000;

/** Nearly all sign-in requests arrive with their body, so they don't have to wait. */
const maxAwaited = 16;

export class SignInBodies {
  /** Functions that end a wait, longest wait first. */
  readonly #ends = new Set<() => void>();

  /**
   * Waits for up to a second, or until 16 newer requests are waiting.
   * @throws ProblemError `request-timeout`, or the error of `readBody`
   */
  async withBodyTimeout<T>(body: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const end = () => {
      this.#ends.delete(end);
      reject(new ProblemError("request-timeout", "the request didn't arrive in time"));
    };
    const timer = setTimeout(end, maxBodyWaitMs);
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
