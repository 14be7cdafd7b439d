// Makes responses with the headers they all have (contract section 3), such as the request ID and the permission for scripts from any origin, and turns
// errors into problem documents (section 8). Only the documentation may be cached.

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
import type { RateLimit, RequestContext } from "./request-context.ts";

/** Headers that scripts from other origins may read. Only needed if the request has an `Origin` (Fetch section 3.2). */
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
  "X-Key-Expires",
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

const corsHeaders = { "Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff" };
const common = toHeaderLines({
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  ...corsHeaders,
});
/** The header section up to the request ID, by content type. There are only a few types. */
const headerPrefixes = new Map<string | undefined, string>();

/** @param headers in addition to those every response has */
export function toResponse(
  { id, request, rateLimit, keyExpires, sandbox, isDryRun }: RequestContext,
  status: number,
  content: ResponseContent | null,
  headers: HeaderValues = {},
): WireResponse {
  let lines: HeaderParts = [headerPrefix(content?.type), id.parts, "\r\n", toHeaderLines(headers)];
  if (rateLimit) lines = [lines, toHeaderLines(rateLimitHeaders(rateLimit))];
  if (keyExpires !== undefined) lines = [lines, toHeaderLines({ "X-Key-Expires": keyExpires })];
  if (sandbox !== undefined) lines = [lines, toHeaderLines({ "X-Sandbox": sandbox })];
  if (isDryRun) lines = [lines, dryRunHeader];
  if (request.headers.has("origin")) lines = [lines, exposeHeaders];
  return { status, headers: lines, body: content?.body ?? null };
}

/**
 * Returns `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). For a key in debt, no tokens remain, and the time until the bucket is
 * full includes the debt.
 */
export function rateLimitHeaders({ limit, remaining }: RateLimit): Record<string, string> {
  const { tokensPerSecond, maxTokens } = limit;
  const window = Math.max(1, Math.round(maxTokens / tokensPerSecond));
  const secondsToFull = Math.ceil((maxTokens - remaining) / tokensPerSecond);
  return {
    "RateLimit-Policy": `"key";q=${maxTokens};w=${window}`,
    RateLimit: `"key";r=${Math.max(0, remaining)};t=${secondsToFull}`,
  };
}

interface EncodedContent {
  readonly type: string;
  readonly list: TextInParts;
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
  return { status, headers: toHeaderLines({ ...corsHeaders, "X-Request-Id": id.parts, ...headers }), body };
}

function headerPrefix(type: string | undefined): string {
  let prefix = headerPrefixes.get(type);
  if (prefix === undefined) {
    const typeLine = type === undefined ? [] : toHeaderLines({ "Content-Type": type });
    prefix = joinParts([common, typeLine, "X-Request-Id: "]);
    headerPrefixes.set(type, prefix);
  }
  return prefix;
}

/** Responds with a problem document (RFC 9457), in XML if the path ends in `.xml` and in JSON otherwise. */
export function toProblemResponse(context: RequestContext, problemError: ProblemError): WireResponse {
  context.problem = problemError;
  const format = formats.find(({ name }) => context.target.path.endsWith(`.${name}`)) ?? json;
  const content = { type: format.problemType, body: format.problem(toProblemDocument(context, problemError)) };
  return toResponse(context, statusOf(problemError.code), content, problemHeaders(problemError));
}

/**
 * A problem can quote what the client sent, and clients log problems, so any key in it is shortened. If only the operator can solve it, it says how to reach
 * the operator.
 */
export function toProblemDocument(
  { id, contact }: Pick<RequestContext, "id" | "contact">,
  { code, message, fieldErrors }: ProblemError,
): Problem {
  const redacted = fieldErrors.map((error) => ({
    ...error,
    field: redactKeys(error.field),
    detail: redactKeys(error.detail),
  }));
  const errors: { errors?: readonly FieldError[] } = fieldErrors.length > 0 ? { errors: redacted } : {};
  const status = statusOf(code);
  const needsOperator = status === 401 || status === 403 || status >= 500;
  return {
    type: `/docs/problems/${code}`,
    title: problemTitles[code],
    status,
    detail: redactKeys(message),
    instance: String(id),
    ...(contact !== undefined && needsOperator ? { contact } : {}),
    ...errors,
  };
}
