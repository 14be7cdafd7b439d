// The formats of request and response bodies, JSON and XML, and the status code of each problem. CSV is only for files (csv.ts).
//
// A format encodes records, feed pages and problem documents (json.ts, xml.ts), and decodes bodies into plain values. Decoding finds errors such as a
// duplicate name; the values are validated later, the same way for all formats (model/record.ts). Decoding limits depth and number of values
// (syntax-errors.ts), and reports malformed text by line and column (json-parser.ts, xml-parser.ts).

import type { FeedChange } from "../model/change.ts";
import type { Encoding } from "../model/encoding.ts";
import type { ErrorCode, FieldError } from "../model/errors.ts";
import type { StorefrontRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { BatchFormat } from "./batch-format.ts";
import { json } from "./json.ts";
import { xml } from "./xml.ts";

/** What's in a body before validation, and the errors found while decoding. */
export interface Decoded {
  readonly input: unknown;
  readonly fieldErrors: readonly FieldError[];
}

/** A format's name is the suffix in paths: `json`. */
export interface Format extends Encoding {
  readonly contentType: string;
  /** The content type of problem documents. */
  readonly problemType: string;
  /** @throws ProblemError `bad-request` or `unsupported-media-type` */
  decode(resource: Resource, body: Uint8Array): Decoded;
  /** Encodes a record, or some of its fields, as an item of a list. */
  part(resource: Resource, record: Partial<StorefrontRecord>): string;
  problem(problem: Problem): string;
  /**
   * Encodes a document that isn't a record. In XML, each member is an element, a list has an element per item, and null members are left out.
   * @param name of its root element
   */
  document(name: string, value: PlainDocument): string;
  readonly feed: FeedEncoding;
  readonly batch: BatchFormat;
}

/** A list's name ends in `s`, and its items' name is the same without it. */
export interface PlainDocument {
  readonly [name: string]: string | number | boolean | null | readonly string[];
}

/** A feed page is `start`, then the items with `separator` between them, then `end`. */
interface FeedEncoding {
  start(page: FeedPosition): string;
  item(resource: Resource, change: FeedChange): string;
  readonly separator: string;
  end(page: FeedPosition): string;
}

/** Where a feed page ends. */
export interface FeedPosition {
  /** The cursor after the page. */
  readonly next: string;
  readonly hasMore: boolean;
}

/** A problem document (RFC 9457 section 3). */
export interface Problem {
  /** The path of the page about this kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The request ID, as in `X-Request-Id`. */
  readonly instance: string;
  /** A `mailto:` or `https:` URL, in a problem that only the operator can solve. */
  readonly contact?: string;
  readonly errors?: readonly FieldError[];
}

/** The default comes first. */
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

/** See RFC 9110 section 15, and RFC 6585 for 429 and 431. */
export function statusOf(code: ErrorCode): number {
  return statuses[code];
}
