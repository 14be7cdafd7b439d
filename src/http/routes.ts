// Which route a path has. To add a kind of endpoint, write a file that makes its routes, and add it to `createRoutes`.

import { BoundedCache } from "../lib/bounded-cache.ts";
import { toId } from "../model/record.ts";
import type { Admission } from "./admission.ts";
import { changeRoutes } from "./changes.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Documentation } from "./documentation.ts";
import { healthRoutes } from "./health.ts";
import type { Metrics } from "./metrics.ts";
import { hintFor } from "./path-hints.ts";
import type { Polls } from "./poll.ts";
import type { Readiness } from "./readiness.ts";
import { resourceRoutes } from "./resource-routes.ts";
import { idIn, type Route } from "./route.ts";
import { type RequestTarget, toTarget } from "./target.ts";

export interface RouteDependencies extends HttpDependencies {
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly documentation: Documentation;
  readonly polls: Polls;
  readonly readiness: Readiness;
}

/** What a request target names. */
interface Destination {
  readonly target: RequestTarget;
  /** Undefined when the path has none. */
  readonly route: Route | undefined;
  /** The record's ID in the path; undefined when there is none, or one that is not valid. */
  readonly pathId: number | undefined;
}

export interface Routes {
  /** @param sent a request target, one character per byte */
  find(sent: string): Destination;
  /** The detail of the problem for a path without a route: which path the client probably meant. */
  hint(path: string): string;
}

export function createRoutes(dependencies: RouteDependencies): Routes {
  const routes = new Map<string, Route>([
    ...healthRoutes(dependencies),
    ...resourceRoutes(dependencies),
    ...changeRoutes(dependencies),
  ]);
  const find = (sent: string): Destination => {
    const target = toTarget(sent);
    const { path } = target;
    const route = routes.get(withoutId(path)) ?? routes.get(path) ?? dependencies.documentation.routeOf(path);
    return { target, route, pathId: toId(idIn(path)) };
  };
  const known = new BoundedCache(1024, 200, find);
  return {
    find: (sent) => known.get(sent),
    hint: (path) => hintFor(path, dependencies.resources, routes),
  };
}

/** `/restapi/brands/{id}.json` for `/restapi/brands/12.json`; the empty string for a path without a name before its suffix. */
function withoutId(path: string): string {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.indexOf(".", slash);
  return dot > slash ? `${path.slice(0, slash)}{id}${path.slice(dot)}` : "";
}
