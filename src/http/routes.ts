// Finds the route of a request target, and suggests a path for a target without a route. To add a kind of endpoint, write a file that makes its
// routes, and add it to `createRoutes`.

import { formats } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { BoundedCache } from "../lib/bounded-cache.ts";
import { findNearest, normalizeName } from "../lib/text.ts";
import { toId } from "../model/record.ts";
import { basePath, publicResources, type Resource } from "../model/resource.ts";
import type { RequestAuthorizer } from "./authorization/authorizer.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Documentation } from "./documentation.ts";
import { feedRoutes } from "./feed/feed-routes.ts";
import type { LongPolls } from "./feed/long-poll.ts";
import { healthRoutes, type Readiness } from "./health.ts";
import { resourceRoutes } from "./records/resource-routes.ts";
import type { Metrics } from "./request-metrics.ts";
import { type RequestTarget, toTarget } from "./request-target.ts";
import { idIn, type Route } from "./route.ts";

export interface RouteDependencies extends HttpDependencies {
  readonly authorizer: RequestAuthorizer;
  readonly metrics: Metrics;
  readonly documentation: Documentation;
  readonly longPolls: LongPolls;
  readonly readiness: Readiness;
}

/** The result of `find`. */
export interface RouteMatch {
  readonly target: RequestTarget;
  /** The route of the path; undefined if the path does not exist. */
  readonly route: Route | undefined;
  /** The ID of the record in the path; undefined if the path has no ID or an invalid one. */
  readonly recordIdInPath: number | undefined;
}

/** All routes of the public listener. */
export interface Routes {
  /** Returns the route of a request target. @param sent the target as sent, one character per byte */
  find(sent: string): RouteMatch;
  /** Returns the detail of the problem for a path without a route: the path that the client probably meant, or a list of paths. */
  suggestPath(path: string): string;
}

/** Creates the routes of all endpoints. */
export function createRoutes(dependencies: RouteDependencies): Routes {
  const routes = new Map<string, Route>([
    ...healthRoutes(dependencies),
    ...resourceRoutes(dependencies),
    ...feedRoutes(dependencies),
  ]);
  const find = (sent: string): RouteMatch => {
    const target = toTarget(sent);
    const { path } = target;
    const route = routes.get(withoutId(path)) ?? routes.get(path) ?? dependencies.documentation.routeOf(path);
    return { target, route, recordIdInPath: toId(idIn(path)) };
  };
  const known = new BoundedCache(1024, 200, find);
  return {
    find: (sent) => known.get(sent),
    suggestPath: (path) => pathHint(path, dependencies.resources, routes),
  };
}

/** Replaces the name before the suffix by `{id}`: `/restapi/brands/{id}.json` for `/restapi/brands/12.json`. Empty if the path has no such name. */
function withoutId(path: string): string {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.indexOf(".", slash);
  return dot > slash ? `${path.slice(0, slash)}{id}${path.slice(dot)}` : "";
}

// Suggestions for paths that do not exist.

const formatNames = formats.map(({ name }) => name);

/** Returns a text with the path that the client probably meant; if none is similar, with the paths of all lists and of the feed. */
export function pathHint(path: string, resources: readonly Resource[], routes: ReadonlyMap<string, Route>): string {
  const known = [...routes].filter(([, { kind }]) => kind !== "public").map(([route]) => route);
  const elements = publicResources(resources).map(({ element, path: name }): [string, string] => [
    normalizeName(element),
    name,
  ]);
  const names = new Map([
    ...elements,
    ...known.map((route): [string, string] => [normalizeName(nameIn(route)), nameIn(route)]),
  ]);
  const meant = pathLike(path, known, names);
  if (meant !== undefined) return `did you mean \`${meant}\`?`;
  const lists = known.filter((route) => !route.includes("{id}"));
  return `there is ${lists.map((route) => `\`${route}\``).join(", ")}`;
}

/** Returns the name after the base path: `brands` for `/restapi/brands/{id}.json`. */
function nameIn(route: string): string {
  return route.slice(basePath.length).split(/[/.]/)[0] as string;
}

/**
 * Returns the path of a route that is similar to `path`; undefined if no route is. Takes the first part of `path` that is similar to a name, and
 * the first ID and the first format after it. Ignores everything else: another base path, a version, extra slashes, a suffix in the wrong place.
 * @param known the paths of the routes
 * @param names the names in these paths, by the normalized names that clients may write
 */
function pathLike(path: string, known: readonly string[], names: ReadonlyMap<string, string>): string | undefined {
  const parts = path.slice(0, 500).toLowerCase().split(/[/.]+/);
  for (const [index, part] of parts.entries()) {
    const name = names.get(findNearest(normalizeName(part), [...names.keys()]) ?? "");
    if (name === undefined) continue;
    const rest = parts.slice(index + 1);
    const id = rest.find((text) => toId(text) !== undefined);
    const format = rest.map((text) => findNearest(text, formatNames)).find((found) => found !== undefined) ?? json.name;
    const wanted = [...(id ? [`${basePath}${name}/{id}.${format}`] : []), `${basePath}${name}.${format}`];
    const route = wanted.find((one) => known.includes(one)) ?? known.find((one) => nameIn(one) === name);
    return route?.replace("{id}", id ?? "1");
  }
  return undefined;
}
