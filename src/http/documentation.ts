// The routes of the documentation: pages for people, and documents for programs. The code that makes these is large, so it is loaded after the start.

import { once } from "../lib/concurrency.ts";
import { ProblemError } from "../model/errors.ts";
import { basePath } from "../model/resource.ts";
import type { WireResponse } from "../wire/response.ts";
import { requestedHost } from "./authorization/requested-host.ts";
import { acceptsHtml } from "./common/content-negotiation.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { RequestContext } from "./request-context.ts";
import { toResponse } from "./responses.ts";
import { publicRoute, type Route, siteRoute } from "./route.ts";

interface DocumentationOptions {
  readonly tls?: object | undefined;
  readonly trustForwardedHost: boolean;
}

/** The documentation, as the other parts of the listener use it. */
export interface Documentation {
  /** Loads the code of the pages. */
  load(): Promise<unknown>;
  /** Returns the route of a path that can be documentation; undefined for other paths. */
  routeOf(path: string): Route | undefined;
  /** Returns an HTML page with the error if a browser has opened an unknown page (contract section 8); undefined for other clients and errors. */
  problemPage(context: RequestContext, error: unknown): Promise<WireResponse> | undefined;
}

const documented = /^\/(?:$|docs(?:\/|$)|openapi\.|schemas\/|llms\.txt$)/;

/** The name of the site that the key opens, and the scope of the key, for the pages: they say what an example would change. */
const [sitePath, siteNameRoute] = siteRoute("/docs/site.json", {
  readOperation: "look-up",
  methods: ["GET", "HEAD"],
  respond: (context) => {
    const body = JSON.stringify({ Site: context.sandbox ?? context.site?.name, Scope: context.key?.scope });
    return toResponse(context, 200, { type: "application/json", body: Buffer.from(body) });
  },
});

export function createDocumentation(
  options: DocumentationOptions,
  { resources }: Pick<HttpDependencies, "resources">,
): Documentation {
  const code = once(() => import("./documentation-pages.ts"));
  const pages = once(async () => (await code()).createPages(resources, (context) => addressOf(context, options)));
  const [, route] = publicRoute("documentation", async (context) => {
    const { find, missingDetail } = await pages();
    const respond = find(context.target);
    if (!respond) throw new ProblemError("not-found", missingDetail(context.target.path));
    return respond(context);
  });
  return {
    load: pages,
    routeOf: (path) => {
      if (path === sitePath) return siteNameRoute;
      return documented.test(path) ? route : undefined;
    },
    problemPage(context, error) {
      if (!(error instanceof ProblemError) || !wantsPage(context, error)) return undefined;
      context.problem = error;
      return code().then(({ toProblemPage }) => toProblemPage(context, error));
    },
  };
}

function wantsPage({ request, target }: RequestContext, { code }: ProblemError): boolean {
  if (code !== "not-found" && code !== "wrong-site") return false;
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  return !`${target.path}/`.startsWith(basePath) && acceptsHtml(request.headers.get("accept"));
}

/** A host with or without a port, without characters that a shell would interpret. */
const plainHost = /^(?:[\p{L}\p{N}._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

/**
 * Returns the URL by which the client reached this server, according to the request. `X-Forwarded-Proto` is trusted, because only this client sees
 * the URL, in an example.
 */
function addressOf(context: RequestContext, { tls, trustForwardedHost }: DocumentationOptions): string {
  const host = Buffer.from(requestedHost(context, trustForwardedHost), "latin1").toString();
  const isSecure = tls !== undefined || context.request.headers.get("x-forwarded-proto") === "https";
  return `${isSecure ? "https" : "http"}://${plainHost.test(host) ? host : "server.example"}`;
}
