// The formats of request and response bodies, JSON and XML, and the status code of each problem. CSV is a format of files only (csv.ts).
//
// A format encodes records, feed pages and problem documents (json.ts, xml.ts), and decodes a body into plain values. Decoding reports errors of
// form, such as a name that appears twice. The values are validated later, in the same way for all formats (model/record.ts). Decoding has limits of
// depth and of the number of values (syntax-errors.ts), and reports malformed text by line and column (json-parser.ts, xml-parser.ts).

import type { FeedChange } from "../model/change.ts";
import type { Encoding } from "../model/encoding.ts";
import type { ErrorCode, FieldError } from "../model/errors.ts";
import type { StorefrontRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { BatchFormat } from "./batch-format.ts";
import { json } from "./json.ts";
import { xml } from "./xml.ts";

/** The decoded content of a body, not yet validated, and its errors of form. */
export interface Decoded {
  readonly input: unknown;
  readonly fieldErrors: readonly FieldError[];
}

/** A format of request and response bodies. Its name is the suffix of the path: `json`. */
export interface Format extends Encoding {
  readonly contentType: string;
  /** The content type of a problem document. */
  readonly problemType: string;
  /** Decodes a request body. @throws ProblemError `bad-request` or `unsupported-media-type` */
  decode(resource: Resource, body: Uint8Array): Decoded;
  /** Encodes a record, or some of its fields, as an item of a list. */
  part(resource: Resource, record: Partial<StorefrontRecord>): string;
  problem(problem: Problem): string;
  readonly feed: FeedEncoding;
  readonly batch: BatchFormat;
}

/** The encoding of a feed page: `start`, then the items with `separator` between them, then `end`. */
interface FeedEncoding {
  start(page: FeedPosition): string;
  /** Encodes a change of a record of `resource`. */
  item(resource: Resource, change: FeedChange): string;
  readonly separator: string;
  end(page: FeedPosition): string;
}

/** The end of a feed page: the cursor after it, and whether there are changes after this cursor. */
export interface FeedPosition {
  readonly next: string;
  readonly hasMore: boolean;
}

/** A problem document (RFC 9457 section 3). */
export interface Problem {
  /** The path of the documentation page about this kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The ID of the request, as in `X-Request-Id`. */
  readonly instance: string;
  readonly errors?: readonly FieldError[];
}

/** All formats of request and response bodies, the default first. */
export const formats: readonly Format[] = [json, xml];

const statuses: Record<ErrorCode, number> = {
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

/** Returns the status code of an error code (RFC 9110 section 15, RFC 6585 for 429 and 431). */
export function statusOf(code: ErrorCode): number {
  return statuses[code];
}
