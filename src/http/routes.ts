// Which route a path has. To add a kind of endpoint, write a file that makes its routes, and add it to `createRoutes`.

import type { Admission } from "./admission.ts";
import { changeRoutes } from "./changes.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Documentation } from "./documentation.ts";
import { healthRoutes } from "./health.ts";
import type { Metrics } from "./metrics.ts";
import { hintFor } from "./path-hints.ts";
import type { Polls } from "./poll.ts";
import { resourceRoutes } from "./resource-routes.ts";
import type { Route } from "./route.ts";

export interface RouteDependencies extends HttpDependencies {
  readonly admission: Admission;
  readonly metrics: Metrics;
  readonly documentation: Documentation;
  readonly polls: Polls;
}

export interface Routes {
  /** The route of `path`; undefined when there is none. */
  find(path: string): Route | undefined;
  /** The detail of the problem for a path without a route: which path the client probably meant. */
  hint(path: string): string;
}

export function createRoutes(dependencies: RouteDependencies): Routes {
  const routes = new Map<string, Route>([
    ...healthRoutes(dependencies),
    ...resourceRoutes(dependencies),
    ...changeRoutes(dependencies),
  ]);
  return {
    find: (path) => routes.get(withoutId(path)) ?? routes.get(path) ?? dependencies.documentation.routeOf(path),
    hint: (path) => hintFor(path, dependencies.resources, routes),
  };
}

/** `/restapi/brands/{id}.json` for `/restapi/brands/12.json`; the empty string for a path without a name before its suffix. */
function withoutId(path: string): string {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.indexOf(".", slash);
  return dot > slash ? `${path.slice(0, slash)}{id}${path.slice(dot)}` : "";
}
