// Finds the route for a request target. To add an endpoint, write a file that makes its routes, and add it to `createRoutes`.

import { BoundedCache } from "../lib/bounded-cache.ts";
import { toId } from "../model/record.ts";
import type { RequestAuthorizer } from "./authorization/authorizer.ts";
import { batchRoutes } from "./batch/batch.ts";
import { BatchPlaces } from "./batch/batch-places.ts";
import { undoRoutes } from "./batch/undo.ts";
import { toTarget } from "./common/request-target.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Documentation } from "./documentation.ts";
import { feedRoutes } from "./feed/feed-routes.ts";
import type { LongPolls } from "./feed/long-poll.ts";
import { healthRoutes, type Readiness } from "./health.ts";
import { keyRoutes } from "./key-route.ts";
import { type McpOptions, mcpRoutes } from "./mcp/mcp-route.ts";
import { createPathHint } from "./path-advice.ts";
import type { QueryReader } from "./query.ts";
import { RunningIdempotencyKeys } from "./records/idempotency.ts";
import { resourceRoutes } from "./records/resource-routes.ts";
import { idIn, type PublicRoute, type RequestContext, type Route, type RouteMatch } from "./request-context.ts";
import type { Metrics } from "./request-metrics.ts";
import { toResponse } from "./responses.ts";
import { webhookRoutes } from "./webhooks/webhook-routes.ts";

export interface RouteDependencies extends HttpDependencies {
  readonly authorizer: RequestAuthorizer;
  readonly metrics: Metrics;
  readonly documentation: Documentation;
  readonly longPolls: LongPolls;
  readonly readiness: Readiness;
  readonly queries: QueryReader;
  readonly mcp: McpOptions;
}

export type Routes = ReturnType<typeof createRoutes>;

export function createRoutes(dependencies: RouteDependencies) {
  // Shared by all routes: an idempotency key stands for one request, whatever its path, and the places limit the memory of the whole process.
  const idempotencies = new RunningIdempotencyKeys();
  const batchPlaces = new BatchPlaces();
  const routes = new Map<string, Route>([
    ...healthRoutes(dependencies),
    ...resourceRoutes({ ...dependencies, idempotencies }),
    ...batchRoutes({ ...dependencies, idempotencies, batchPlaces }),
    ...feedRoutes(dependencies),
    ...undoRoutes({ ...dependencies, idempotencies, batchPlaces }),
    ...keyRoutes(dependencies),
    ...webhookRoutes(dependencies),
    ...mcpRoutes({ ...dependencies, batchPlaces, find: (sent) => known.get(sent) }),
  ]);
  const { documentation } = dependencies;
  const createHint = (documents: readonly string[]) => {
    return { documents, find: createPathHint(dependencies.resources, [...routes.keys(), ...documents]) };
  };
  let hint = createHint(documentation.paths());
  const missingDetail = (path: string) => {
    if (hint.documents !== documentation.paths()) hint = createHint(documentation.paths());
    return `no such path; ${hint.find(path)}`;
  };
  const documentationRoute = documentation.createRouteSearch(missingDetail);
  const serverRoute = optionsOfServer([...routes.values()]);
  const find = (sent: string): RouteMatch => {
    const target = toTarget(sent);
    const { path } = target;
    const route =
      path === "*"
        ? serverRoute
        : (routes.get(withoutId(path)) ?? routes.get(withInnerId(path)) ?? documentationRoute(path));
    return { target, route, recordIdInPath: toId(idIn(path)) };
  };
  const known = new BoundedCache(1024, 200, find);
  return {
    /** @param sent the target as sent, one character per byte */
    find: (sent: string) => known.get(sent),
    /** Returns what to tell a client about a path that doesn't exist: the path it probably meant, or a list of paths. */
    missingDetail,
  };
}

/** `OPTIONS *` asks for the methods of the server as a whole (RFC 9110 section 9.3.7). No other method can have this target. */
function optionsOfServer(routes: readonly Route[]): PublicRoute {
  const methods = [...new Set(routes.flatMap((route) => route.methods))];
  const respond = (context: RequestContext) => toResponse(context, 204, null, { Allow: methods.join(", ") });
  return { kind: "public", label: "*", methods: ["OPTIONS"], respond };
}

/** Turns `/restapi/webhooks/12/test.json` into `/restapi/webhooks/{id}/test.json`. Returns other paths as they are. */
function withInnerId(path: string): string {
  return path.replace(/^(\/restapi\/[a-z]+\/)[^/]+(\/[a-z]+\.)/, "$1{id}$2");
}

/** Turns `/restapi/brands/12.json` into `/restapi/brands/{id}.json`. Returns an empty string if the path has no suffix with a name before it. */
function withoutId(path: string): string {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.indexOf(".", slash);
  return dot > slash ? `${path.slice(0, slash)}{id}${path.slice(dot)}` : "";
}
