// Answers. Every one is uncacheable, readable from any web page, and says which request it answers (contract section 3).

import type { Format } from "../formats/format.ts";
import { type Fault, Refusal, refusals } from "../model/errors.ts";
import { type Exchange, formatOf } from "./exchange.ts";
import { formats } from "./routes.ts";
import { statusOf } from "./status.ts";

const common = {
  "Cache-Control": "no-cache, no-store, must-revalidate",
  Pragma: "no-cache",
  Expires: "-1",
  "Access-Control-Allow-Origin": "*",
};

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

export type Body = string | Uint8Array | null;

/** An answer with `headers` besides those that every answer has. */
export function reply(exchange: Exchange, status: number, body: Body, headers: Record<string, string>): Response {
  const all = new Headers({ ...common, ...headers, ...exchange.headers, "X-Request-Id": exchange.id });
  addOccasional(exchange, all);
  return new Response(body as Bun.BodyInit, { status, headers: all });
}

// A Headers object that is filled anew for each answer costs a fifth less than an object literal: `new Response` copies it.
const templates = new Map<string, Headers>();

/** The answer to a successful look-up or to a list that nothing was asked of: the common case, made fast. */
export function replyRead(exchange: Exchange, format: Format, body: Body, etag: string, total?: number): Response {
  if (exchange.headers || exchange.method === "HEAD" || exchange.request.headers.has("Origin")) {
    const headers: Record<string, string> = { "Content-Type": format.contentType, ETag: etag };
    if (total !== undefined) Object.assign(headers, { Vary: "Accept-Encoding", "X-Total-Count": String(total) });
    return reply(exchange, 200, body, headers);
  }
  const headers = template(format, total !== undefined);
  headers.set("ETag", etag);
  headers.set("X-Request-Id", exchange.id);
  if (total !== undefined) headers.set("X-Total-Count", String(total));
  return new Response(body as Bun.BodyInit, { headers });
}

/** 304 (RFC 9110 section 15.4.5). */
export function notModified(exchange: Exchange, headers: Record<string, string>): Response {
  return reply(exchange, 304, null, headers);
}

/** The answer that says no, in the format of the path. */
export function replyRefusal(exchange: Exchange, refusal: Refusal): Response {
  const format = formatOf(exchange, formats);
  const headers: Record<string, string> = { "Content-Type": format.problemType, ...refusal.headers };
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  return reply(exchange, statusOf(refusal.code), format.problem(toProblem(exchange, refusal)), headers);
}

/** Says to everyone that something is wrong, and to nobody what. */
export function replyFault(exchange: Exchange): Response {
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

function template(format: Format, isList: boolean): Headers {
  const name = isList ? `${format.name} list` : format.name;
  let headers = templates.get(name);
  if (!headers) {
    headers = new Headers({ ...common, "Content-Type": format.contentType });
    if (isList) headers.set("Vary", "Accept-Encoding");
    templates.set(name, headers);
  }
  return headers;
}

/** Bun leaves `Date` out of the answer to HEAD, which should be as that to GET (RFC 9110 section 9.3.2). */
function addOccasional(exchange: Exchange, headers: Headers): void {
  if (exchange.request.method === "HEAD") headers.set("Date", new Date().toUTCString());
  if (exchange.request.headers.has("Origin")) headers.set("Access-Control-Expose-Headers", exposed);
}
