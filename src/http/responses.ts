// Makes responses with the header fields that all responses have (contract section 3): a request ID, and the permission for scripts of every origin.
// Caches may store only the documentation. Also makes problem documents of errors (contract section 8).

import { formats, statusOf } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { type Fault, type Refusal, refusals } from "../model/errors.ts";
import type { EncodedList } from "../store/memory/collection-version.ts";
import {
  type HeaderParts,
  type HeaderValues,
  joinParts,
  type ResponseBody,
  toHeaderLines,
  type WireResponse,
} from "../wire/response.ts";
import { type ContentCoding, compressed } from "./compression.ts";
import type { Exchange } from "./handler.ts";

/** The header fields that scripts of other origins may read. They are sent only to requests with an `Origin` (Fetch section 3.2). */
const exposed = [
  "Date",
  "ETag",
  "Idempotency-Replayed",
  "Link",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-Request-Id",
  "X-Total-Count",
].join(", ");
const exposeHeaders = toHeaderLines({ "Access-Control-Expose-Headers": exposed });

interface ResponseContent {
  /** The value of `Content-Type`. */
  readonly type: string;
  readonly body: ResponseBody;
}

const everywhere = { "Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff" };
const common = toHeaderLines({
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  ...everywhere,
});
/** The start of the header section, up to the request ID: the common fields, and `Content-Type` if there is one. By type; there are few types. */
const beginnings = new Map<string | undefined, string>();

/** Makes a response. @param headers fields in addition to those of every response */
export function toResponse(
  { id, request, rateLimit }: Exchange,
  status: number,
  content: ResponseContent | null,
  headers: HeaderValues = {},
): WireResponse {
  let lines: HeaderParts = [beginningFor(content?.type), id.parts, "\r\n", toHeaderLines(headers)];
  if (rateLimit) lines = [lines, toHeaderLines(rateLimit)];
  if (request.headers.has("origin")) lines = [lines, exposeHeaders];
  return { status, headers: lines, body: content?.body ?? null };
}

/** Makes a response with a list or feed page. @param coding the content coding; undefined for none */
export function respondEncoded(
  exchange: Exchange,
  type: string,
  list: EncodedList,
  coding: ContentCoding | undefined,
  headers: HeaderValues,
): MaybePromise<WireResponse> {
  if (!coding) return toResponse(exchange, 200, { type, body: list.take() }, headers);
  return after(compressed(list, coding), (body) =>
    toResponse(exchange, 200, { type, body }, { "Content-Encoding": coding, ...headers }),
  );
}

/** Makes a response with a plain text. */
export function toTextResponse(exchange: Exchange, body: string): WireResponse {
  return toResponse(exchange, 200, { type: "text/plain; charset=utf-8", body });
}

/** Makes a response that caches may store, as `Cache-Control` in `headers` allows. */
export function toCacheableResponse(
  { id }: Exchange,
  status: number,
  body: ResponseBody,
  headers: HeaderValues,
): WireResponse {
  return { status, headers: toHeaderLines({ ...everywhere, "X-Request-Id": id.parts, ...headers }), body };
}

function beginningFor(type: string | undefined): string {
  let beginning = beginnings.get(type);
  if (beginning === undefined) {
    const typeLine = type === undefined ? [] : toHeaderLines({ "Content-Type": type });
    beginning = joinParts([common, typeLine, "X-Request-Id: "]);
    beginnings.set(type, beginning);
  }
  return beginning;
}

/** Makes a response with a problem document (RFC 9457), in XML if the path ends in `.xml`, otherwise in JSON. */
export function toProblemResponse(exchange: Exchange, refusal: Refusal): WireResponse {
  const format = formats.find(({ name }) => exchange.target.path.endsWith(`.${name}`)) ?? json;
  const headers: Record<string, string> = { ...refusal.headers };
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  const content = { type: format.problemType, body: format.problem(toProblem(exchange, refusal)) };
  return toResponse(exchange, statusOf(refusal.code), content, headers);
}

function toProblem(exchange: Exchange, { code, message, faults }: Refusal) {
  const errors: { errors?: readonly Fault[] } = faults.length > 0 ? { errors: faults } : {};
  const type = `/docs/problems/${code}`;
  return {
    type,
    title: refusals[code],
    status: statusOf(code),
    detail: message,
    instance: String(exchange.id),
    ...errors,
  };
}
