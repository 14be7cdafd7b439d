// One request of the admin listener: its host, its route, and its response. There is no CORS header, so scripts of other origins cannot read
// what is here.

import type { Logger } from "pino";
import { json } from "../formats/json.ts";
import { statusOf, unreadableCodes } from "../formats/status.ts";
import { randomText } from "../lib/base62.ts";
import { createLogLimit, type LogLimit } from "../lib/log-limit.ts";
import { Refusal } from "../model/errors.ts";
import { toHeaderLines } from "../wire/header-parts.ts";
import type { Handler, Incident, WireRequest } from "../wire/request.ts";
import { RequestError } from "../wire/request-error.ts";
import type { WireResponse } from "../wire/response.ts";
import type { ResponseBody } from "../wire/response-body.ts";
import { requireSameOrigin } from "./origin.ts";
import { isPageWanted, problemAsPage } from "./problem-page.ts";
import { Router } from "./router.ts";

export interface AdminContent {
  /** 200 if it is absent. */
  readonly status?: number;
  readonly body: ResponseBody;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request on its way to its response. */
export interface AdminExchange {
  readonly request: WireRequest;
  readonly query: URLSearchParams;
  /** The segments of the path that the client chose, by their names in the route's pattern. */
  readonly parameters: Readonly<Record<string, string>>;
}

type Respond = (exchange: AdminExchange) => Promise<AdminContent>;

/** An endpoint of the admin listener: what it does by method, in the order of `Allow`. HEAD does as GET, without the body. */
export type AdminRoute = Readonly<Record<string, Respond>>;

/** The routes by the pattern of their path, see router.ts. */
export type AdminRoutes = ReadonlyMap<string, AdminRoute>;

/** The header fields of every response. A page has its own `Cache-Control` and `Content-Security-Policy`. */
const common = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

export class AdminHandler implements Handler {
  readonly #router: Router<AdminRoute>;
  readonly #isAllowed: (host: string | null) => boolean;
  readonly #log: Logger;
  readonly #logLimit: LogLimit;

  constructor(
    routes: AdminRoutes,
    isAllowed: (host: string | null) => boolean,
    { log, now }: { readonly log: Logger; readonly now: () => number },
  ) {
    this.#router = new Router(routes);
    this.#isAllowed = isAllowed;
    this.#log = log;
    this.#logLimit = createLogLimit(now);
  }

  async respond(request: WireRequest): Promise<WireResponse> {
    const id = randomText(12);
    try {
      return toAdminResponse(id, await this.#respond(request));
    } catch (error) {
      return this.#toProblem(id, error, isPageWanted(request));
    }
  }

  respondUnreadable(error: unknown): WireResponse {
    return this.#toProblem(randomText(12), error);
  }

  note(incident: Incident, reason?: string): void {
    this.#logLimit(incident, (suppressed) => this.#log.warn({ reason, suppressed }, `admin listener: ${incident}`));
  }

  /** @throws Refusal */
  #respond(request: WireRequest): Promise<AdminContent> {
    const { method, target, headers } = request;
    if (!this.#isAllowed(headers.get("host"))) {
      const detail = "this hostname is not allowed here; use `localhost` or an IP address, or add it with --admin-host";
      throw new Refusal("wrong-site", detail);
    }
    const [path = "", query = ""] = splitAt(target, "?");
    const found = this.#router.find(path);
    if (!found) throw new Refusal("not-found", "there is nothing at this path");
    const { route, parameters } = found;
    const name = method === "HEAD" ? "GET" : method;
    // A method may be any token, also `constructor`.
    const respond = Object.hasOwn(route, name) ? route[name] : undefined;
    if (!respond) throw wrongMethod(method, route);
    if (method !== "GET" && method !== "HEAD") requireSameOrigin(headers);
    return respond({ request, query: new URLSearchParams(query), parameters });
  }

  #toProblem(id: string, error: unknown, asPage = false): WireResponse {
    const { code, message, faults, headers, retryAfter } = this.#toRefusal(id, error);
    const status = statusOf(code);
    const more = { ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }), ...headers };
    if (asPage) return toAdminResponse(id, withHeaders(problemAsPage({ status, detail: message, id }), more));
    const problem = { status, detail: message, instance: id, code };
    const body = JSON.stringify(faults.length > 0 ? { ...problem, errors: faults } : problem);
    return toAdminResponse(id, { status, body, headers: { "Content-Type": json.problemType, ...more } });
  }

  #toRefusal(id: string, error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof RequestError) return new Refusal(unreadableCodes[error.reason], error.message);
    this.#log.error({ request: id, err: error }, "a request of the admin listener failed");
    return new Refusal("internal", `the server's log has the details of the request ${id}`);
  }
}

function wrongMethod(method: string, route: AdminRoute): Refusal {
  const methods = Object.keys(route).flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : [one]));
  const allow = { headers: { Allow: methods.join(", ") } };
  return new Refusal("method-not-allowed", `this path has no method ${method.slice(0, 40)}`, allow);
}

function splitAt(text: string, mark: string): [before: string, after: string] {
  const index = text.indexOf(mark);
  return index === -1 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

function withHeaders(content: AdminContent, headers: AdminContent["headers"]): AdminContent {
  return { ...content, headers: { ...content.headers, ...headers } };
}

function toAdminResponse(id: string, { status = 200, body, headers }: AdminContent): WireResponse {
  return { status, headers: toHeaderLines({ ...common, ...headers, "X-Request-Id": id }), body };
}
