// Handles requests to the admin listener: checks host and origin, finds the route and builds the response. There are no CORS headers, so that other
// origins' scripts can't read responses.

import { isIPv4 } from "node:net";
import type { Logger } from "pino";
import { statusOf } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { acceptsHtml } from "../http/common/content-negotiation.ts";
import { problemHeaders, toProblemError } from "../http/common/error-response.ts";
import { requireKnownMethod } from "../http/common/known-methods.ts";
import { toTarget } from "../http/common/request-target.ts";
import { createLogRateLimiter, type LogRateLimiter } from "../lib/logging.ts";
import { escapeHtml, randomText } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import { hostnameOf } from "../model/hostname.ts";
import { WriteRefusedError } from "../operator/records/conflicts.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import type { Handler, Incident, WireRequest } from "../wire/request.ts";
import { type ResponseBody, toHeaderLines, type WireResponse } from "../wire/response.ts";
import { Router } from "./router.ts";

/** A response without the headers that all responses have. */
export interface AdminContent {
  /** 200 by default. */
  readonly status?: number;
  readonly body: ResponseBody;
  readonly headers: Readonly<Record<string, string>>;
}

export interface AdminRequestContext {
  readonly request: WireRequest;
  readonly query: URLSearchParams;
  /** Path segments by their names in the route's pattern. */
  readonly parameters: Readonly<Record<string, string>>;
}

type Respond = (context: AdminRequestContext) => Promise<AdminContent>;

/** A function for each method, in the order of `Allow`. HEAD uses GET's. */
export type AdminRoute = Readonly<Record<string, Respond>>;

export type AdminRoutes = ReadonlyMap<string, AdminRoute>;

/** Pages override `Cache-Control` and `Content-Security-Policy`. */
const common = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

export class AdminHandler implements Handler {
  readonly #router: Router<AdminRoute>;
  /** Of all routes, for `OPTIONS *`. */
  readonly #methods: string;
  readonly #isAllowed: (host: string | null) => boolean;
  readonly #log: Logger;
  readonly #logLimit: LogRateLimiter;

  /** @param hostnames allowed besides `localhost` and IP addresses, in normal form (`parseHostname`) */
  constructor(
    routes: AdminRoutes,
    hostnames: readonly string[],
    { log, now }: { readonly log: Logger; readonly now: () => number },
  ) {
    this.#router = new Router(routes);
    this.#methods = `${methodsOf(routes.values())}, OPTIONS`;
    this.#isAllowed = createHostCheck(hostnames);
    this.#log = log;
    this.#logLimit = createLogRateLimiter(now);
  }

  async respond(request: WireRequest): Promise<WireResponse> {
    const id = randomText(12);
    try {
      return toAdminResponse(id, await this.#respond(request));
    } catch (error) {
      return this.#toProblem(id, error, isPageWanted(request));
    }
  }

  respondToFailure(error: unknown): WireResponse {
    return this.#toProblem(randomText(12), error);
  }

  logIncident(incident: Incident, reason?: string): void {
    this.#logLimit(incident, (suppressed) => this.#log.warn({ reason, suppressed }, `admin listener: ${incident}`));
  }

  async #respond(request: WireRequest): Promise<AdminContent> {
    requireKnownMethod(request);
    const { method, headers } = request;
    const { path, query, host = headers.get("host") } = toTarget(request.target);
    if (!this.#isAllowed(host)) {
      const detail =
        "this hostname isn't allowed here; use `localhost` or an IP address, or allow it with --admin-host";
      throw new ProblemError("wrong-site", detail);
    }
    if (path === "*") return { status: 204, body: null, headers: { Allow: this.#methods } };
    const found = this.#router.find(path);
    if (!found) throw new ProblemError("not-found", notFoundDetail);
    const { route, parameters } = found;
    const name = method === "HEAD" ? "GET" : method;
    // Only own properties, because a method can be any token, such as `constructor`.
    const respond = Object.hasOwn(route, name) ? route[name] : undefined;
    if (!respond) {
      const allowed = { headers: { Allow: methodsOf([route]) } };
      throw new ProblemError("method-not-allowed", `this path doesn't support ${method}`, allowed);
    }
    if (method !== "GET" && method !== "HEAD") requireSameOrigin(headers, host);
    return respond({ request, query: new URLSearchParams(query), parameters });
  }

  #toProblem(id: string, error: unknown, asPage = false): WireResponse {
    const problemError = toProblemError(error, id, (err) =>
      this.#log.error({ request: id, err }, "a request to the admin listener failed"),
    );
    const { code, message, fieldErrors } = problemError;
    const status = statusOf(code);
    const headers = problemHeaders(problemError);
    if (asPage) {
      const page = problemAsPage(status, message, id);
      return toAdminResponse(id, { ...page, headers: { ...page.headers, ...headers } });
    }
    const problem = { status, detail: message, instance: id, code };
    const errors = fieldErrors.length > 0 ? { errors: fieldErrors } : {};
    const members = problemError instanceof WriteRefusedError ? problemError.members : {};
    const body = JSON.stringify({ ...problem, ...errors, ...members });
    return toAdminResponse(id, { status, body, headers: { "Content-Type": json.problemType, ...headers } });
  }
}

const notFoundDetail =
  "not found; this address has the console (`/`) and `/metrics`, and the REST API is at another address";

function methodsOf(routes: Iterable<AdminRoute>): string {
  const methods = [...routes].flatMap((route) => Object.keys(route));
  return [...new Set(methods.flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : [one])))].join(", ");
}

function toAdminResponse(id: string, { status = 200, body, headers }: AdminContent): WireResponse {
  return { status, headers: toHeaderLines({ ...common, ...headers, "X-Request-Id": id }), body };
}

/**
 * Allows IP addresses, `localhost` and `names`. A malicious page can make a browser send us requests under the page's own hostname (DNS rebinding), but
 * not under one of these.
 * @param names in normal form (`parseHostname`)
 */
function createHostCheck(names: readonly string[]): (host: string | null) => boolean {
  const allowed = new Set(["localhost", ...names]);
  return (host) => {
    if (host === null || !plainHost.test(host)) return false;
    const name = hostnameOf(host);
    return allowed.has(name) || isIPv4(name) || (name.startsWith("[") && URL.canParse(`http://${name}/`));
  };
}

/** A host with or without a port, and nothing that two programs could parse differently. */
const plainHost = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

/**
 * Changes must come from this listener's own pages (contract section 13). Browsers add `Origin` to all such requests, and scripts can't set it (Fetch
 * section 3.2). Only compares hosts, because a proxy that terminates TLS changes the scheme.
 * @param sentHost the host that the request is for
 * @throws ProblemError `forbidden`
 */
function requireSameOrigin(headers: HeaderFields, sentHost: string | null): void {
  const origin = headers.get("origin");
  const url = origin === null ? null : URL.parse(origin);
  const host = URL.parse(`${url?.protocol}//${sentHost}`)?.host;
  if (url && /^https?:$/.test(url.protocol) && url.origin === origin && url.host === host) return;
  throw new ProblemError(
    "forbidden",
    "changes must come from a page at this address: send `Origin` with the request's scheme and host. Behind a proxy, make it pass on `Host`",
  );
}

// Problems as HTML pages, for people who type an address into their browser.

function isPageWanted({ method, headers }: WireRequest): boolean {
  return method === "GET" && acceptsHtml(headers.get("accept"));
}

/** Its policy only allows its own style. */
function problemAsPage(status: number, detail: string, id: string): AdminContent {
  const nonce = randomText(22);
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Storefront</title>
<style nonce="${nonce}">
body { font: 16px/1.5 system-ui, sans-serif; max-width: 32em; margin: 15vh auto; padding: 0 1em; overflow-wrap: anywhere }
small { opacity: 0.7 }
</style>
</head>
<body>
<h1>${status === 404 ? "Page not found" : "That didn’t work"}</h1>
<p>${escapeHtml(detail.charAt(0).toUpperCase() + detail.slice(1))}.</p>
<p><a href="/">Go to the console</a></p>
<p><small>Status ${status}, request ${escapeHtml(id)}</small></p>
</body>
</html>
`;
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`;
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy };
  return { status, body, headers };
}
