// Responses. Each is readable from any web page and says which request it belongs to; none may be kept, but for
// documentation (contract section 3).

import { formats } from "../formats/format.ts";
import { statusOf } from "../formats/status.ts";
import { type Fault, Refusal, refusals } from "../model/errors.ts";
import { type ResponseBody, toHeaderLines, type WireResponse } from "../wire/response.ts";
import { type Exchange, formatOf } from "./exchange.ts";

/** The headers that a script on another origin may read, told only to those who name their origin (Fetch section 3.2). */
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

/** A body and what it is. */
interface ResponseContent {
  /** `Content-Type`. */
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
/** There are few types. */
const commonByType = new Map<string, string>();

/** An answer with `headers` besides those that every answer has. */
export function toResponse(
  { id, request, headers: ofExchange }: Exchange,
  status: number,
  content: ResponseContent | null,
  headers: Readonly<Record<string, string>> = {},
): WireResponse {
  let lines = `${content ? commonFor(content.type) : common}X-Request-Id: ${id}\r\n${toHeaderLines(headers)}`;
  if (ofExchange) lines += toHeaderLines(ofExchange);
  if (request.headers.has("origin")) lines += `Access-Control-Expose-Headers: ${exposed}\r\n`;
  return { status, headers: lines, body: content?.body ?? null };
}

/** A response that may be kept, as `Cache-Control` among its headers says. */
export function toCacheableResponse(
  { id }: Exchange,
  status: number,
  body: ResponseBody,
  headers: Readonly<Record<string, string>>,
): WireResponse {
  return { status, headers: toHeaderLines({ ...everywhere, "X-Request-Id": id, ...headers }), body };
}

function commonFor(type: string): string {
  let lines = commonByType.get(type);
  if (lines === undefined) {
    lines = common + toHeaderLines({ "Content-Type": type });
    commonByType.set(type, lines);
  }
  return lines;
}

/** The answer that says no, in the format of the path. */
export function toProblemResponse(exchange: Exchange, refusal: Refusal): WireResponse {
  const format = formatOf(exchange, formats);
  const headers: Record<string, string> = { ...refusal.headers };
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  const content = { type: format.problemType, body: format.problem(toProblem(exchange, refusal)) };
  return toResponse(exchange, statusOf(refusal.code), content, headers);
}

/** Says to everyone that something is wrong, and to nobody what. */
export function toInternalErrorResponse(exchange: Exchange): WireResponse {
  return toProblemResponse(
    exchange,
    new Refusal("internal", `the server's log tells more about the request ${exchange.id}`),
  );
}

function toProblem(exchange: Exchange, { code, message, faults }: Refusal) {
  const errors: { errors?: readonly Fault[] } = faults.length > 0 ? { errors: faults } : {};
  const type = `/docs/problems/${code}`;
  return { type, title: refusals[code], status: statusOf(code), detail: message, instance: exchange.id, ...errors };
}
