// Limits of requests: one token bucket per key, and one per client network that sends invalid keys (contract section 9).

import type { Limit } from "../lib/token-buckets.ts";
import { Refusal } from "../model/errors.ts";

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
export function rateLimitHeaders({ rate, burst }: Limit, left: number): Record<string, string> {
  const window = Math.max(1, Math.round(burst / rate));
  const refill = Math.ceil((burst - left) / rate);
  return { "RateLimit-Policy": `"key";q=${burst};w=${window}`, RateLimit: `"key";r=${left};t=${refill}` };
}

/** The refusal of a request for which there was no token. */
export function tooManyRequests(limit: Limit, detail: string): Refusal {
  const retryAfter = Math.max(1, Math.ceil(1 / limit.rate));
  return new Refusal("too-many-requests", detail, { retryAfter });
}
