import type { Code } from "../model/errors.ts";

const statuses: Record<Code, number> = {
  "bad-request": 400,
  "invalid-record": 400,
  "ambiguous-id": 400,
  unauthorized: 401,
  forbidden: 403,
  "site-suspended": 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "request-timeout": 408,
  conflict: 409,
  gone: 410,
  "precondition-failed": 412,
  "too-large": 413,
  "unsupported-media-type": 415,
  "wrong-site": 421,
  "idempotency-key-reused": 422,
  "too-many-requests": 429,
  "head-too-large": 431,
  internal: 500,
  "not-implemented": 501,
  unavailable: 503,
};

/** The codes of requests that cannot be read, by the reason that `wire` has for it. */
export const unreadableCodes = {
  malformed: "bad-request",
  timeout: "request-timeout",
  "header-too-large": "head-too-large",
  "body-too-large": "too-large",
} as const satisfies Record<string, Code>;

/** The status code for an error code (RFC 9110 section 15, RFC 6585 for 429 and 431). */
export function statusOf(code: Code): number {
  return statuses[code];
}
