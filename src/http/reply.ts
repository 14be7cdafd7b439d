// Responses. Each is readable from any web page and says which request it belongs to; none may be kept, but for
// documentation (contract section 3).

import { type Fault, Refusal, refusals } from "../model/errors.ts";
import { type Body, type Reply, toLines } from "../wire/reply.ts";
import { type Exchange, formatOf } from "./exchange.ts";
import { formats } from "./routes.ts";
import { statusOf } from "./status.ts";

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
export interface Content {
  /** `Content-Type`. */
  readonly type: string;
  readonly body: Body;
}

const everywhere = { "Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff" };
const common = toLines({
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  ...everywhere,
});
/** There are few types. */
const commonByType = new Map<string, string>();

/** An answer with `headers` besides those that every answer has. */
export function reply(
  { id, request, headers: ofExchange }: Exchange,
  status: number,
  content: Content | null,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  let lines = `${content ? commonFor(content.type) : common}X-Request-Id: ${id}\r\n${toLines(headers)}`;
  if (ofExchange) lines += toLines(ofExchange);
  if (request.fields.has("origin")) lines += `Access-Control-Expose-Headers: ${exposed}\r\n`;
  return { status, headers: lines, body: content?.body ?? null };
}

/** A response that may be kept, as `Cache-Control` among its headers says. */
export function replyCacheable(
  { id }: Exchange,
  status: number,
  body: Body,
  headers: Readonly<Record<string, string>>,
): Reply {
  return { status, headers: toLines({ ...everywhere, "X-Request-Id": id, ...headers }), body };
}

function commonFor(type: string): string {
  let lines = commonByType.get(type);
  if (lines === undefined) {
    lines = common + toLines({ "Content-Type": type });
    commonByType.set(type, lines);
  }
  return lines;
}

/** The answer that says no, in the format of the path. */
export function replyRefusal(exchange: Exchange, refusal: Refusal): Reply {
  const format = formatOf(exchange, formats);
  const headers: Record<string, string> = { ...refusal.headers };
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  const content = { type: format.problemType, body: format.problem(toProblem(exchange, refusal)) };
  return reply(exchange, statusOf(refusal.code), content, headers);
}

/** Says to everyone that something is wrong, and to nobody what. */
export function replyFault(exchange: Exchange): Reply {
  return replyRefusal(
    exchange,
    new Refusal("internal", `the server's log tells more about the request ${exchange.id}`),
  );
}

function toProblem(exchange: Exchange, { code, message, faults }: Refusal) {
  const errors: { errors?: readonly Fault[] } = faults.length > 0 ? { errors: faults } : {};
  const type = `/docs/problems/${code}`;
  return { type, title: refusals[code], status: statusOf(code), detail: message, instance: exchange.id, ...errors };
}
