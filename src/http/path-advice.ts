// Suggests a path for a target without a route.

import { formats } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { findNearest, normalizeName } from "../lib/text.ts";
import { toId } from "../model/record.ts";
import { basePath, publicResources, type Resource } from "../model/resource.ts";
import type { Route } from "./route.ts";

const formatNames = formats.map(({ name }) => name);

/** Returns a text with the path that the client probably meant; if none is similar, with the paths of all lists and of the feed. */
export function pathHint(path: string, resources: readonly Resource[], routes: ReadonlyMap<string, Route>): string {
  const known = [...routes.keys()].filter((route) => route.startsWith(basePath));
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
