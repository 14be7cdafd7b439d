import { StorefrontFailure, type StorefrontProblem } from "./storefront-errors.ts";

/** Statuses after which the same request may succeed. */
const retriedStatuses = [409, 429, 502, 503, 504];

/** The first and the longest wait, in milliseconds, before a random factor of 0.5 to 1.5 is applied. */
const [firstWait, maxWait] = [200, 10_000];

/**
 * Returns the milliseconds to wait after a failed attempt: any `Retry-After`, plus a wait that doubles with each attempt, up to 15 seconds. It's
 * randomized, so that many clients don't come back at the same moment.
 * @param attempt the attempt that failed, counted from 1
 * @returns undefined if retrying can't help, or if `Retry-After` is longer than `maxRetryAfter`
 */
export function waitAfter(
  error: StorefrontProblem | StorefrontFailure,
  attempt: number,
  maxRetryAfter: number,
): number | undefined {
  if (error instanceof StorefrontFailure) {
    return error.reason === "network" || error.reason === "timeout" ? backOff(attempt) : undefined;
  }
  const { status, retryAfter = 0 } = error;
  return retriedStatuses.includes(status) && retryAfter <= maxRetryAfter ? retryAfter + backOff(attempt) : undefined;
}

/** Returns the milliseconds to wait after a failed attempt, without `Retry-After`. @param attempt counted from 1 */
export function backOff(attempt: number): number {
  return Math.min(firstWait * 2 ** (attempt - 1), maxWait) * (0.5 + Math.random());
}

/** Throws the signal's reason if it's aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/** In React Native, a signal has no reason, and there's neither `throwIfAborted` nor `DOMException`. */
export function abortReason(signal: AbortSignal | undefined): unknown {
  return signal?.reason ?? namedError("AbortError", "the call was aborted");
}

function namedError(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

/** Waits. Rejects with the signal's reason as soon as it's aborted. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    throwIfAborted(signal);
    const stop = () => {
      clearTimeout(timer);
      reject(abortReason(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Calls `work` with an AbortSignal that aborts when the time is up, or when `signal` aborts. `AbortSignal.any` would leak an object into `signal` on
 * every call in Node, and `signal` can live as long as the program.
 */
export async function withTimeLimit<Result>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const leave = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", leave);
  if (signal?.aborted) leave();
  const timer = setTimeout(() => controller.abort(namedError("TimeoutError", "the time is up")), milliseconds);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}
