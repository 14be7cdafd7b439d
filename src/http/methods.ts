import { Refusal } from "../model/errors.ts";
import type { WireRequest } from "../wire/request.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Exchange } from "./exchange.ts";
import { toResponse } from "./responses.ts";
import type { Route } from "./routes.ts";

const overrides = ["PUT", "PATCH", "DELETE"];

/** The methods of the IANA HTTP Method Registry, and QUERY. (The registry's `*` is reserved and no method.) */
const registered: ReadonlySet<string> = new Set(
  `ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET HEAD LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR
  MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH POST PRI PROPFIND PROPPATCH PUT QUERY REBIND REPORT SEARCH
  TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL`.split(/\s+/),
);

/** @throws Refusal `not-implemented` for a method that is not registered (RFC 9110 section 9.1) */
export function requireKnownMethod({ method }: WireRequest): void {
  if (registered.has(method)) return;
  throw new Refusal("not-implemented", `there is no method \`${method.slice(0, 40)}\`; methods are case-sensitive`);
}

/** The method as a metric names it. Clients may send any, so those that are not registered share a name. */
export function methodLabel(method: string): string {
  return registered.has(method) ? method : "other";
}

/**
 * The method that the request means: its own, or that of `X-HTTP-Method-Override` on a POST.
 * @throws Refusal `method-not-allowed` when the route has no such method, `bad-request` for any other override
 */
export function methodOf(request: WireRequest, route: Route): string {
  const method = request.method === "POST" ? overridden(request) : request.method;
  if (route.methods.includes(method)) return method;
  throw new Refusal("method-not-allowed", whyNot(method, route), { headers: { Allow: route.methods.join(", ") } });
}

function whyNot(method: string, { resource, format, isList }: Route): string {
  const { path, plural } = resource;
  if (resource.access === "read") return `${plural} can only be read`;
  if (method !== "POST" || isList) return `this path has no method ${method}`;
  return `create with POST \`/restapi/${path}.${format.name}\`; change this one with PUT or PATCH here`;
}

/** The answer to OPTIONS, which needs no key: a browser's preflight carries none (Fetch section 3.2). */
export function preflight(exchange: Exchange, route: Route): WireResponse {
  const methods = route.methods.join(", ");
  return toResponse(exchange, 204, null, {
    Allow: methods,
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers":
      "X-API-AUTH, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-HTTP-Method-Override",
    "Access-Control-Max-Age": "86400",
  });
}

function overridden(request: WireRequest): string {
  const override = request.headers.get("x-http-method-override");
  if (override === null) return "POST";
  const method = override.trim().toUpperCase();
  if (overrides.includes(method)) return method;
  throw new Refusal(
    "bad-request",
    `X-HTTP-Method-Override must be ${overrides.join(", ")}, not \`${override.slice(0, 40)}\``,
  );
}
