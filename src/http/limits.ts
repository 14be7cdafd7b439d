// Token buckets: one per key, and one per client address for keys that were refused.

import { Refusal } from "../model/errors.ts";

export interface Limit {
  /** Tokens that come back per second. */
  readonly rate: number;
  /** Tokens in a full bucket. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  /** Milliseconds since 1970 at which `tokens` was right. */
  at: number;
}

/** How many buckets to remember before full ones are forgotten. */
const mostBuckets = 10_000;

export class Buckets<Name> {
  readonly #buckets = new Map<Name, Bucket>();

  /** Takes a token and says how many are left; undefined when there was none. */
  take(name: Name, { rate, burst }: Limit, now: number): number | undefined {
    let bucket = this.#buckets.get(name);
    if (!bucket) {
      if (this.#buckets.size >= mostBuckets) this.#buckets.clear();
      bucket = { tokens: burst, at: now };
      this.#buckets.set(name, bucket);
    }
    const elapsed = Math.max(0, now - bucket.at) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + elapsed * rate);
    bucket.at = now;
    if (bucket.tokens < 1) return undefined;
    bucket.tokens -= 1;
    return Math.floor(bucket.tokens);
  }
}

/** `RateLimit-Policy` and `RateLimit`, as the IETF's draft on them has it (draft-ietf-httpapi-ratelimit-headers). */
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
