import type { RateLimit } from "./options.ts";

/**
 * Parses the header fields of a key's rate limit: `RateLimit-Policy`, such as `"key";q=100;w=2`, and `RateLimit`, such as `"key";r=99;t=1`
 * (draft-ietf-httpapi-ratelimit-headers). Returns undefined if the key has no limit, or a proxy removed a field.
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
