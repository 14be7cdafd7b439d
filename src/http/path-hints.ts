// Suggestions for paths that do not exist.

import { formats } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { lettersOf, nearest } from "../lib/nearest.ts";
import { toId } from "../model/record.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { basePath, type Route } from "./route.ts";

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
