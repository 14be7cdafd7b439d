// What needs neither a site nor a key: health, metrics, and pages for people.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import { Refusal } from "../model/errors.ts";
import type { WireResponse } from "../wire/response.ts";
import { weightsOf } from "./accept.ts";
import { sentHost } from "./auth.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Exchange } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";
import { once } from "./once.ts";
import { createReadiness } from "./readiness.ts";
import { toResponse } from "./responses.ts";

const plain = "text/plain; charset=utf-8";

type Answer = (exchange: Exchange) => MaybePromise<WireResponse>;

interface StaticOptions {
  readonly tls?: object | undefined;
  readonly trustForwardedHost: boolean;
}

/** Where the interface is described. Much code does that, so it is loaded after the start. */
const describing = /^\/(?:$|docs(?:\/|$)|openapi\.|schemas\/)/;

export function createStaticRoutes(
  options: StaticOptions,
  { engine, resources, now }: HttpDependencies,
  metrics: Metrics,
) {
  const ready = createReadiness(engine, now);
  const answers = new Map<string, Answer>([
    ["/healthz", (exchange) => send(exchange, plain, "ok\n")],
    ["/readyz", (exchange) => ready().then(() => send(exchange, plain, "ready\n"))],
    ["/metrics", async (exchange) => send(exchange, "text/plain; version=0.0.4; charset=utf-8", await metrics.text())],
  ]);
  const pages = once(() => import("./pages.ts"));
  const describe = once(async () =>
    (await pages()).referencePages(resources, (exchange) => addressOf(exchange, options)),
  );
  async function describeInterface(exchange: Exchange): Promise<WireResponse> {
    const answer = (await describe()).get(exchange.target.path);
    if (!answer) throw new Refusal("not-found", "there is no such page; `/docs/guide` lists those that there are");
    return answer(exchange);
  }
  return {
    /** Loads what the pages need. */
    load: describe,
    /** The answer to `exchange`, if one of these paths is asked for. */
    find(exchange: Exchange): MaybePromise<WireResponse> | undefined {
      const { path } = exchange.target;
      const answer = answers.get(path) ?? (describing.test(path) ? describeInterface : undefined);
      if (!answer) return undefined;
      const { method } = exchange.request;
      if (method === "GET" || method === "HEAD") return answer(exchange);
      const headers = { Allow: "GET, HEAD" };
      throw new Refusal("method-not-allowed", "this page can only be read", { headers });
    },
    /** The page for a browser that opened what does not exist here (contract section 8); undefined for everything else. */
    refusalPage(exchange: Exchange, error: unknown): Promise<WireResponse> | undefined {
      if (!(error instanceof Refusal) || !isForPeople(exchange, error)) return undefined;
      return pages().then(({ toProblemPage }) => toProblemPage(exchange, error));
    },
  };
}

function send(exchange: Exchange, type: string, body: string): WireResponse {
  return toResponse(exchange, 200, { type, body });
}

function isForPeople({ request, target }: Exchange, { code }: Refusal): boolean {
  if (code !== "not-found" && code !== "wrong-site") return false;
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  if (/^\/restapi(?:\/|$)/.test(target.path)) return false;
  return (weightsOf(request.headers.get("accept") ?? "").get("text/html") ?? 0) > 0;
}

/** A host with or without port, and nothing that a shell would read as more than that. */
const plainHost = /^(?:[\p{L}\p{N}._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

/**
 * The address by which the client reached this server, as the request tells it. It is shown to that client alone, in an
 * example, so `X-Forwarded-Proto` is believed.
 */
function addressOf(exchange: Exchange, { tls, trustForwardedHost }: StaticOptions): string {
  const host = Buffer.from(sentHost(exchange, trustForwardedHost), "latin1").toString();
  const isSecure = tls !== undefined || exchange.request.headers.get("x-forwarded-proto") === "https";
  return `${isSecure ? "https" : "http"}://${plainHost.test(host) ? host : "server.example"}`;
}
