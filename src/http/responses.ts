// Makes responses with the header fields that all responses have (contract section 3): a request ID, and the permission for scripts of every origin.
// Caches may store only the documentation. Also makes problem documents of errors (contract section 8).

import { formats, type Problem, statusOf } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { type MaybePromise, whenResolved } from "../lib/maybe-promise.ts";
import { redactKeys } from "../model/api-key.ts";
import { type FieldError, type ProblemError, problemTitles } from "../model/errors.ts";
import type { TextInParts } from "../store/memory/text-in-parts.ts";
import {
  type HeaderParts,
  type HeaderValues,
  joinParts,
  type ResponseBody,
  toHeaderLines,
  type WireResponse,
} from "../wire/response.ts";
import { problemHeaders } from "./common/error-response.ts";
import { type ContentCoding, compressList } from "./compression.ts";
import type { RequestContext } from "./request-context.ts";

/** The header fields that scripts of other origins may read. They are sent only to requests with an `Origin` (Fetch section 3.2). */
const exposedHeaders = [
  "Date",
  "ETag",
  "Idempotency-Replayed",
  "Link",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-Dry-Run",
  "X-Request-Id",
  "X-Sandbox",
  "X-Total-Count",
].join(", ");
const exposeHeaders = toHeaderLines({ "Access-Control-Expose-Headers": exposedHeaders });
const dryRunHeader = toHeaderLines({ "X-Dry-Run": "1" });

interface ResponseContent {
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
  { id, request, rateLimit, sandbox, isDryRun }: RequestContext,
  status: number,
  content: ResponseContent | null,
  headers: HeaderValues = {},
): WireResponse {
  let lines: HeaderParts = [responseHeaderStart(content?.type), id.parts, "\r\n", toHeaderLines(headers)];
  if (rateLimit) lines = [lines, toHeaderLines(rateLimit)];
  if (sandbox !== undefined) lines = [lines, toHeaderLines({ "X-Sandbox": sandbox })];
  if (isDryRun) lines = [lines, dryRunHeader];
  if (request.headers.has("origin")) lines = [lines, exposeHeaders];
  return { status, headers: lines, body: content?.body ?? null };
}

interface EncodedContent {
  readonly type: string;
  readonly list: TextInParts;
  /** The content coding; undefined for none. */
  readonly coding: ContentCoding | undefined;
}

export function respondEncoded(
  context: RequestContext,
  { type, list, coding }: EncodedContent,
  headers: HeaderValues,
): MaybePromise<WireResponse> {
  if (!coding) return toResponse(context, 200, { type, body: list.bytesForNextRequest() }, headers);
  return whenResolved(compressList(list, coding), (body) =>
    toResponse(context, 200, { type, body }, { "Content-Encoding": coding, ...headers }),
  );
}

export function toTextResponse(context: RequestContext, body: string): WireResponse {
  return toResponse(context, 200, { type: "text/plain; charset=utf-8", body });
}

export function toCacheableResponse(
  { id }: RequestContext,
  status: number,
  body: ResponseBody,
  headers: HeaderValues,
): WireResponse {
  return { status, headers: toHeaderLines({ ...everywhere, "X-Request-Id": id.parts, ...headers }), body };
}

function responseHeaderStart(type: string | undefined): string {
  let beginning = beginnings.get(type);
  if (beginning === undefined) {
    const typeLine = type === undefined ? [] : toHeaderLines({ "Content-Type": type });
    beginning = joinParts([common, typeLine, "X-Request-Id: "]);
    beginnings.set(type, beginning);
  }
  return beginning;
}

/** Makes a response with a problem document (RFC 9457), in XML if the path ends in `.xml`, otherwise in JSON. */
export function toProblemResponse(context: RequestContext, problemError: ProblemError): WireResponse {
  context.problem = problemError;
  const format = formats.find(({ name }) => context.target.path.endsWith(`.${name}`)) ?? json;
  const content = { type: format.problemType, body: format.problem(toProblemDocument(context, problemError)) };
  return toResponse(context, statusOf(problemError.code), content, problemHeaders(problemError));
}

/** Returns the problem document of an error. A problem can quote what the client has sent. A key in it is shortened, because clients log problems. */
export function toProblemDocument(
  context: Pick<RequestContext, "id">,
  { code, message, fieldErrors }: ProblemError,
): Problem {
  const redacted = fieldErrors.map((error) => ({
    ...error,
    field: redactKeys(error.field),
    detail: redactKeys(error.detail),
  }));
  const errors: { errors?: readonly FieldError[] } = fieldErrors.length > 0 ? { errors: redacted } : {};
  const type = `/docs/problems/${code}`;
  return {
    type,
    title: problemTitles[code],
    status: statusOf(code),
    detail: redactKeys(message),
    instance: String(context.id),
    ...errors,
  };
}
