import { StorefrontFailure, type StorefrontProblem } from "./errors.ts";

/** Statuses after which the same request may succeed. */
const passing = [409, 429, 502, 503, 504];

/** The first wait and the longest, in milliseconds, before half of it is left to chance. */
const [firstWait, mostWait] = [200, 10_000];

/**
 * Milliseconds to wait after the failure of `attempt` (from 1): longer each time, at most 15 seconds, and never a round number, so that many
 * clients do not come back at the same moment. What `Retry-After` says comes first. Undefined when the request would fail again, or would
 * have to wait longer than `longestWait`.
 */
export function waitAfter(
  error: StorefrontProblem | StorefrontFailure,
  attempt: number,
  longestWait: number,
): number | undefined {
  const backOff = Math.min(firstWait * 2 ** (attempt - 1), mostWait) * (0.5 + Math.random());
  if (error instanceof StorefrontFailure) {
    return error.reason === "network" || error.reason === "timeout" ? backOff : undefined;
  }
  const { status, retryAfter = 0 } = error;
  return passing.includes(status) && retryAfter <= longestWait ? retryAfter + backOff : undefined;
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
