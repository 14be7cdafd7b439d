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
  const all = new Headers(common);
  for (const name in headers) all.set(name, headers[name] as string);
  return send(exchange, status, body, all);
}

/** The kinds of answers that come often: each always has the same headers, with other values. */
const often = {
  record: 200,
  list: 200,
  "compressed list": 200,
  created: 201,
  updated: 200,
  deleted: 200,
  "same record": 304,
  "same list": 304,
} as const;
export type Kind = keyof typeof often;

// `new Response` copies the headers that it is given, so one object of each kind is enough: filled anew for each answer, it
// costs a fifth less than an object literal.
const templates = new Map<string, Headers>();

/** An answer of a kind that comes often. `headers` must have the same names whenever `kind` is the same. */
export function replyOften(
  exchange: Exchange,
  kind: Kind,
  format: Format,
  body: Body,
  headers: Record<string, string>,
): Response {
  const name = `${kind} ${format.name}`;
  let template = templates.get(name);
  if (!template) {
    template = new Headers(body === null ? common : { ...common, "Content-Type": format.contentType });
    templates.set(name, template);
  }
  for (const header in headers) template.set(header, headers[header] as string);
  return send(exchange, often[kind], body, template);
}

/** Completes `headers` by what depends on the request, on a copy where that is not the same for every one. */
function send(exchange: Exchange, status: number, body: Body, headers: Headers): Response {
  const { request } = exchange;
  const isScript = request.headers.has("Origin");
  const complete = exchange.headers || isScript || request.method === "HEAD" ? new Headers(headers) : headers;
  complete.set("X-Request-Id", exchange.id);
  for (const name in exchange.headers) complete.set(name, exchange.headers[name] as string);
  if (isScript) complete.set("Access-Control-Expose-Headers", exposed);
  // Bun leaves `Date` out of the answer to HEAD, which should be as that to GET (RFC 9110 section 9.3.2).
  if (request.method === "HEAD") complete.set("Date", new Date().toUTCString());
  return new Response(body as Bun.BodyInit, { status, headers: complete });
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
