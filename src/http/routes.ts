// Which route a path has. To add a kind of endpoint, write a file that makes its routes, and add it to `createRoutes`.

import { formats } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { BoundedCache } from "../lib/bounded-cache.ts";
import { lettersOf, nearest } from "../lib/text.ts";
import { toId } from "../model/record.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import type { Admission } from "./authorizer.ts";
import type { Documentation } from "./documentation.ts";
import { changeRoutes } from "./feed-routes.ts";
import { healthRoutes, type Readiness } from "./health.ts";
import type { Polls } from "./long-poll.ts";
import type { Metrics } from "./metrics.ts";
import { resourceRoutes } from "./resource-routes.ts";
import { basePath, idIn, type RequestTarget, type Route, toTarget } from "./route.ts";
import type { HttpDependencies } from "./server.ts";

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

// Suggestions for paths that do not exist.

const formatNames = formats.map(({ name }) => name);

/** The path that the client probably meant, or every path of a site that has no ID. */
export function hintFor(path: string, resources: readonly Resource[], routes: ReadonlyMap<string, Route>): string {
  const known = [...routes].filter(([, { kind }]) => kind !== "public").map(([route]) => route);
  const elements = servedOf(resources).map(({ element, path: name }): [string, string] => [lettersOf(element), name]);
  const names = new Map([
    ...elements,
    ...known.map((route): [string, string] => [lettersOf(nameIn(route)), nameIn(route)]),
  ]);
  const meant = pathLike(path, known, names);
  if (meant !== undefined) return `did you mean \`${meant}\`?`;
  const lists = known.filter((route) => !route.includes("{id}"));
  return `there is ${lists.map((route) => `\`${route}\``).join(", ")}`;
}

/** The name below the base path: `brands` for `/restapi/brands/{id}.json`. */
function nameIn(route: string): string {
  return route.slice(basePath.length).split(/[/.]/)[0] as string;
}

/**
 * The path of the first part of `path` that is like a name, with the first ID and the first format after it. Everything else is ignored:
 * another base, a version, extra slashes, a suffix in the wrong place. Undefined when no part is like a name.
 * @param names of the routes in `known`, by the letters that clients may write for them
 */
function pathLike(path: string, known: readonly string[], names: ReadonlyMap<string, string>): string | undefined {
  const parts = path.slice(0, 500).toLowerCase().split(/[/.]+/);
  for (const [index, part] of parts.entries()) {
    const name = names.get(nearest(lettersOf(part), [...names.keys()]) ?? "");
    if (name === undefined) continue;
    const rest = parts.slice(index + 1);
    const id = rest.find((text) => toId(text) !== undefined);
    const format = rest.map((text) => nearest(text, formatNames)).find((found) => found !== undefined) ?? json.name;
    const wanted = [...(id ? [`${basePath}${name}/{id}.${format}`] : []), `${basePath}${name}.${format}`];
    const route = wanted.find((one) => known.includes(one)) ?? known.find((one) => nameIn(one) === name);
    return route?.replace("{id}", id ?? "1");
  }
  return undefined;
}
