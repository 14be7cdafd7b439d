// Limits the request bodies that have not arrived yet, because each uses one of the listener's few connections: the bodies of an operator by
// their number, and the bodies of sign-in requests, whose clients are unknown, by their number and by time.

import { ProblemError } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";

/** Maximum number of bodies of one operator that are awaited at once: more than the connections that a browser opens to a server. */
const maxOfOperator = 8;

/** Waits for the bodies of signed-in operators, a limited number at once for each operator. */
export class OperatorBodies {
  readonly #counts = new Map<number, number>();

  /** Waits for the body of an operator's request. @param operator ID of the operator. @throws ProblemError `too-many-requests`, RequestError */
  async waitForBody(operator: number, request: WireRequest): Promise<void> {
    if (request.receivedBody) return;
    const body = request.readBody();
    const count = this.#counts.get(operator) ?? 0;
    if (count >= maxOfOperator) {
      // The response discards the body. Catch its error here, because nobody else awaits it.
      body.catch(() => {});
      const detail = `${count} requests of this operator are being sent already; try again when they have arrived`;
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

/** Maximum milliseconds until the body of a sign-in request arrives. */
const maxBodyWaitMs = 1000;

/** Maximum number of bodies that are awaited at once. Nearly all sign-in requests arrive with their body, and so do not wait. */
const maxAwaited = 16;

export class SignInBodies {
  /** Functions that end one wait, the longest wait first. */
  readonly #ends = new Set<() => void>();

  /**
   * Waits for a body for at most a second, and only until 16 newer bodies are awaited.
   * @throws ProblemError `request-timeout`, or the error of `readBody`
   */
  async withBodyTimeout<T>(body: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const end = () => {
      this.#ends.delete(end);
      reject(new ProblemError("request-timeout", "the request did not arrive in time"));
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
