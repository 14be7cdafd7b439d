// Answers. Every one is uncacheable, readable from any web page, and says which request it answers (contract section 3).

import { type Fault, Refusal, refusals } from "../model/errors.ts";
import type { Body, Reply } from "../wire/reply.ts";
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

/** An answer with `headers` besides those that every answer has. */
export function reply(
  exchange: Exchange,
  status: number,
  body: Body,
  headers: Readonly<Record<string, string>>,
): Reply {
  const all: Record<string, string> = {
    "Cache-Control": "no-cache, no-store, must-revalidate",
    Pragma: "no-cache",
    Expires: "-1",
    "Access-Control-Allow-Origin": "*",
    "X-Request-Id": exchange.id,
    ...exchange.headers,
    ...headers,
  };
  if (exchange.request.fields.has("origin")) all["Access-Control-Expose-Headers"] = exposed;
  return { status, headers: all, body };
}

/** The answer that says no, in the format of the path. */
export function replyRefusal(exchange: Exchange, refusal: Refusal): Reply {
  const format = formatOf(exchange, formats);
  const headers: Record<string, string> = { "Content-Type": format.problemType, ...refusal.headers };
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  return reply(exchange, statusOf(refusal.code), format.problem(toProblem(exchange, refusal)), headers);
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
