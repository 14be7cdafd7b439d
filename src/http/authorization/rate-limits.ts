// Header fields about a rate limit (contract section 9), and the error above the limit.

import type { Limit } from "../../lib/token-buckets.ts";
import { ProblemError } from "../../model/errors.ts";

/**
 * Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). During debt, no token remains, and the time until
 * the bucket is full includes the debt.
 * @param remainingTokens whole tokens in the bucket; negative during debt
 */
export function rateLimitHeaders(
  { tokensPerSecond, maxTokens }: Limit,
  remainingTokens: number,
): Record<string, string> {
  const window = Math.max(1, Math.round(maxTokens / tokensPerSecond));
  const secondsToFull = Math.ceil((maxTokens - remainingTokens) / tokensPerSecond);
  return {
    "RateLimit-Policy": `"key";q=${maxTokens};w=${window}`,
    RateLimit: `"key";r=${Math.max(0, remainingTokens)};t=${secondsToFull}`,
  };
}

/**
 * Returns the error of a request for which the bucket had no token. `Retry-After` is the time until one token has refilled, at least 1 s.
 * @param missingTokens the tokens that the bucket lacks, if it may have debt
 */
export function tooManyRequestsError(limit: Limit, detail: string, missingTokens = limit.maxTokens): ProblemError {
  const lacking = Math.max(1, missingTokens - limit.maxTokens + 1);
  return new ProblemError("too-many-requests", detail, {
    retryAfterSeconds: Math.max(1, Math.ceil(lacking / limit.tokensPerSecond)),
  });
}
