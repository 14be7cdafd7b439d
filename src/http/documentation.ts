// The routes of the documentation: pages for people, and documents for programs. The code that makes them is large, so it is loaded
// after the start.

import { once } from "../lib/concurrency.ts";
import { Refusal } from "../model/errors.ts";
import type { WireResponse } from "../wire/response.ts";
import { sentHost } from "./authenticate.ts";
import { acceptsHtml } from "./common/content-negotiation.ts";
import type { Exchange } from "./handler.ts";
import { type PublicRoute, publicRoute } from "./route.ts";
import type { HttpDependencies } from "./server.ts";

interface DocumentationOptions {
  readonly tls?: object | undefined;
  readonly trustForwardedHost: boolean;
}

export interface Documentation {
  /** Loads the code of the pages. */
  load(): Promise<unknown>;
  /** The route of a path under which there is documentation; undefined for other paths. */
  routeOf(path: string): PublicRoute | undefined;
  /** A page with the refusal, for a browser that opened a path that does not exist (contract section 8); undefined for every other client. */
  problemPage(exchange: Exchange, error: unknown): Promise<WireResponse> | undefined;
}

const documented = /^\/(?:$|docs(?:\/|$)|openapi\.|schemas\/)/;

export function createDocumentation(
  options: DocumentationOptions,
  { resources }: Pick<HttpDependencies, "resources">,
): Documentation {
  const code = once(() => import("./documentation-pages.ts"));
  const pages = once(async () => (await code()).createPages(resources, (exchange) => addressOf(exchange, options)));
  const [, route] = publicRoute("documentation", async (exchange) => {
    const respond = responderFor(exchange, await pages());
    if (!respond) throw new Refusal("not-found", "there is no such page; `/docs/guide` lists the pages");
    return respond(exchange);
  });
  return {
    load: pages,
    routeOf: (path) => (documented.test(path) ? route : undefined),
    problemPage(exchange, error) {
      if (!(error instanceof Refusal) || !wantsPage(exchange, error)) return undefined;
      return code().then(({ toProblemPage }) => toProblemPage(exchange, error));
    },
  };
}

/** @throws Refusal `bad-request` for a `format` that a document does not have */
function responderFor<T>({ target: { path, query } }: Exchange, responders: ReadonlyMap<string, T>): T | undefined {
  const format = new URLSearchParams(query).get("format");
  const chosen = format === null ? undefined : responders.get(`${path}?format=${format}`);
  if (format !== null && !chosen && path.startsWith("/openapi."))
    throw new Refusal("bad-request", `\`format\` must be \`json\` or \`xml\`, not \`${format}\``);
  return chosen ?? responders.get(path);
}

function wantsPage({ request, target }: Exchange, { code }: Refusal): boolean {
  if (code !== "not-found" && code !== "wrong-site") return false;
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  return !/^\/restapi(?:\/|$)/.test(target.path) && acceptsHtml(request.headers.get("accept"));
}

/** A host with or without a port, without any character that a shell would interpret. */
const plainHost = /^(?:[\p{L}\p{N}._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

/**
 * The address at which the client reached this server, according to the request. Only that client sees it, in an example, so
 * `X-Forwarded-Proto` is trusted.
 */
function addressOf(exchange: Exchange, { tls, trustForwardedHost }: DocumentationOptions): string {
  const host = Buffer.from(sentHost(exchange, trustForwardedHost), "latin1").toString();
  const isSecure = tls !== undefined || exchange.request.headers.get("x-forwarded-proto") === "https";
  return `${isSecure ? "https" : "http"}://${plainHost.test(host) ? host : "server.example"}`;
}
