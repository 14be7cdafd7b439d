// One request of the admin listener: its host, its route, and its response. There is no CORS header, so scripts of other origins cannot read
// what is here.

import type { Logger } from "pino";
import { json } from "../formats/json.ts";
import { statusOf } from "../formats/status.ts";
import { randomText } from "../lib/base62.ts";
import { createLogLimit, type LogLimit } from "../lib/log-limit.ts";
import { Refusal } from "../model/errors.ts";
import type { Handler, Incident, WireRequest } from "../wire/request.ts";
import { RequestError } from "../wire/request-error.ts";
import { toHeaderLines, type WireResponse } from "../wire/response.ts";

interface AdminContent {
  /** `Content-Type`. */
  readonly type: string;
  readonly body: string;
}

/** An endpoint of the admin listener. */
export interface AdminRoute {
  /** In the order of `Allow`. */
  readonly methods: readonly string[];
  respond(request: WireRequest): Promise<AdminContent>;
}

const common = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
};

export class AdminHandler implements Handler {
  readonly #routes: ReadonlyMap<string, AdminRoute>;
  readonly #isAllowed: (host: string | null) => boolean;
  readonly #log: Logger;
  readonly #logLimit: LogLimit;

  constructor(
    routes: ReadonlyMap<string, AdminRoute>,
    isAllowed: (host: string | null) => boolean,
    { log, now }: { readonly log: Logger; readonly now: () => number },
  ) {
    this.#routes = routes;
    this.#isAllowed = isAllowed;
    this.#log = log;
    this.#logLimit = createLogLimit(now);
  }

  async respond(request: WireRequest): Promise<WireResponse> {
    const id = randomText(12);
    try {
      return toAdminResponse(200, id, await this.#routeOf(request).respond(request));
    } catch (error) {
      return this.#toProblem(id, error);
    }
  }

  respondUnreadable(error: unknown): WireResponse {
    return this.#toProblem(randomText(12), error);
  }

  note(incident: Incident, reason?: string): void {
    this.#logLimit(incident, (suppressed) => this.#log.warn({ reason, suppressed }, `admin listener: ${incident}`));
  }

  /** @throws Refusal */
  #routeOf({ method, target, headers }: WireRequest): AdminRoute {
    if (!this.#isAllowed(headers.get("host"))) {
      const detail = "this hostname is not allowed here; use `localhost` or an IP address, or add it with --admin-host";
      throw new Refusal("wrong-site", detail);
    }
    const [path = ""] = target.split("?", 1);
    const route = this.#routes.get(path);
    if (!route) throw new Refusal("not-found", `there is nothing here; paths: ${[...this.#routes.keys()].join(", ")}`);
    if (route.methods.includes(method)) return route;
    const allow = { headers: { Allow: route.methods.join(", ") } };
    throw new Refusal("method-not-allowed", `this path has no method ${method.slice(0, 40)}`, allow);
  }

  #toProblem(id: string, error: unknown): WireResponse {
    const refusal = this.#toRefusal(id, error);
    const status = statusOf(refusal.code);
    const problem = JSON.stringify({ status, detail: refusal.message, instance: id });
    return toAdminResponse(status, id, { type: json.problemType, body: problem }, refusal.headers);
  }

  #toRefusal(id: string, error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof RequestError) return new Refusal("bad-request", error.message);
    this.#log.error({ request: id, err: error }, "a request of the admin listener failed");
    return new Refusal("internal", `the server's log has the details of the request ${id}`);
  }
}

function toAdminResponse(
  status: number,
  id: string,
  { type, body }: AdminContent,
  headers: Readonly<Record<string, string>> = {},
): WireResponse {
  const all = { "Content-Type": type, ...common, "X-Request-Id": id, ...headers };
  return { status, headers: toHeaderLines(all), body };
}
