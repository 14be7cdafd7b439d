// How records travel: JSON and XML over HTTP, and CSV in files. A format writes records and problem documents (json.ts, xml.ts), and decodes a
// body into plain values and the faults of its form; what the values mean is checked by model/record.ts, for all formats alike. Parsing
// has a bound on depth and size (syntax-errors.ts), and json-parser.ts and xml-parser.ts report the position of an error.

import type { Change } from "../model/change.ts";
import type { Encoding } from "../model/encoding.ts";
import type { Code, Fault } from "../model/errors.ts";
import type { StorefrontRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { json } from "./json.ts";
import { xml } from "./xml.ts";

/** The decoded content of a body, not yet validated, and the faults of its form. */
export interface Decoded {
  readonly input: unknown;
  readonly faults: readonly Fault[];
}

/** A format of request and response bodies. Its name is the suffix of the path. */
export interface Format extends Encoding {
  readonly contentType: string;
  /** The content type of a problem document. */
  readonly problemType: string;
  /** Decodes a request body. @throws Refusal `bad-request` or `unsupported-media-type` */
  decode(resource: Resource, body: Uint8Array): Decoded;
  /** A record, or some of its fields, as an item of a list. */
  part(resource: Resource, record: Partial<StorefrontRecord>): string;
  problem(problem: Problem): string;
  readonly feed: FeedEncoding;
}

/** How a page of the feed is written: `start`, its items with `separator` between them, `end`. */
interface FeedEncoding {
  start(page: FeedPosition): string;
  /** A change of a record of `resource`. @param cursor the position after it */
  item(resource: Resource, cursor: string, change: Change): string;
  readonly separator: string;
  end(page: FeedPosition): string;
}

/** Where a page of the feed ends: the cursor after it, and whether there are changes after that. */
export interface FeedPosition {
  readonly next: string;
  readonly isMore: boolean;
}

/** A problem document (RFC 9457 section 3). */
export interface Problem {
  /** The path of the page about this kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The ID of the request, as in `X-Request-Id`. */
  readonly instance: string;
  readonly errors?: readonly Fault[];
}

/** All formats of request and response bodies, the default first. */
export const formats: readonly Format[] = [json, xml];

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
