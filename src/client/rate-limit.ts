import type { RateLimit } from "./options.ts";

/**
 * Parses the headers with the key's rate limit (draft-ietf-httpapi-ratelimit-headers), such as `RateLimit-Policy: "key";q=100;w=2` and `RateLimit:
 * "key";r=99;t=1`. Returns undefined if the key has no limit, or a proxy stripped a header.
 */
export function parseRateLimit(headers: Headers): RateLimit | undefined {
  const [, limit, window] = /"key";q=(\d+);w=(\d+)/.exec(headers.get("RateLimit-Policy") ?? "") ?? [];
  const [, remaining, reset] = /"key";r=(\d+);t=(\d+)/.exec(headers.get("RateLimit") ?? "") ?? [];
  if (!(Number(limit) > 0 && Number(window) > 0) || reset === undefined) return undefined;
  return {
    limit: Number(limit),
    window: Number(window) * 1000,
    remaining: Number(remaining),
    reset: Number(reset) * 1000,
  };
}
