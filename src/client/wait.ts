import { StorefrontFailure, type StorefrontProblem } from "./storefront-errors.ts";

/** Statuses after which the same request may succeed. */
const retriedStatuses = [409, 429, 502, 503, 504];

/** Milliseconds before the random factor of 0.5 to 1.5: the first wait, and the bound of the doubling. */
const [firstWait, maxWait] = [200, 10_000];

/**
 * Milliseconds to wait after a failed attempt. Each wait is twice as long as the one before, up to 15 seconds, with a random factor so that
 * many clients do not return at the same moment. `Retry-After` is added.
 * @param attempt counts from 1
 * @returns undefined if a retry cannot help, or if `Retry-After` is longer than `maxRetryAfter`
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

/** Milliseconds to wait after a failed attempt, without `Retry-After`. @param attempt counts from 1 */
export function backOff(attempt: number): number {
  return Math.min(firstWait * 2 ** (attempt - 1), maxWait) * (0.5 + Math.random());
}

/** Waits. Throws the reason of `signal` as soon as it is aborted. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Calls `work` with a signal that aborts after a time, or with `signal`. Not by `AbortSignal.any`: in Node, it leaves something behind in
 * `signal`, which can live as long as the program.
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
  const timer = setTimeout(() => controller.abort(new DOMException("the time is over", "TimeoutError")), milliseconds);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}
