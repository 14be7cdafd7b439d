import { StorefrontFailure, type StorefrontProblem } from "./storefront-errors.ts";

/** Statuses after which the same request may succeed. */
const retriedStatuses = [409, 429, 502, 503, 504];

/** The first wait and the maximum wait, in milliseconds, before the random factor of 0.5 to 1.5. */
const [firstWait, maxWait] = [200, 10_000];

/**
 * Returns the milliseconds to wait after a failed attempt. The wait doubles with each attempt, up to 15 seconds, and has a random factor, so that
 * many clients do not return at the same moment. `Retry-After` is added.
 * @param attempt the number of the attempt, from 1
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

/** Returns the milliseconds to wait after a failed attempt, without `Retry-After`. @param attempt the number of the attempt, from 1 */
export function backOff(attempt: number): number {
  return Math.min(firstWait * 2 ** (attempt - 1), maxWait) * (0.5 + Math.random());
}

/** Waits for a time. Throws the reason of `signal` as soon as it is aborted. */
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
 * Calls `work` with an AbortSignal that aborts after a time, or when `signal` aborts. It does not use `AbortSignal.any`, because in Node that leaves
 * an object in `signal` at each call, and `signal` can live as long as the program.
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
