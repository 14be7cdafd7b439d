// Header fields about a rate limit (contract section 9), and the error above the limit.

import type { Limit } from "../../lib/token-buckets.ts";
import { ProblemError } from "../../model/errors.ts";

/**
 * Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
 * @param remainingTokens whole tokens in the bucket
 */
export function rateLimitHeaders(
  { tokensPerSecond, maxTokens }: Limit,
  remainingTokens: number,
): Record<string, string> {
  const window = Math.max(1, Math.round(maxTokens / tokensPerSecond));
  const secondsToFull = Math.ceil((maxTokens - remainingTokens) / tokensPerSecond);
  return {
    "RateLimit-Policy": `"key";q=${maxTokens};w=${window}`,
    RateLimit: `"key";r=${remainingTokens};t=${secondsToFull}`,
  };
}

/** Returns the error of a request for which the bucket had no token. `Retry-After` is the time in which one token refills, at least 1 s. */
export function tooManyRequestsError(limit: Limit, detail: string): ProblemError {
  const retryAfterSeconds = Math.max(1, Math.ceil(1 / limit.tokensPerSecond));
  return new ProblemError("too-many-requests", detail, { retryAfterSeconds });
}
