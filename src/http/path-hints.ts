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
  const meant = pathLike(path, servedOf(resources));
  if (meant !== undefined) return `did you mean \`${meant}\`?`;
  const known = [...routes].filter(([known, { kind }]) => kind !== "public" && !known.includes("{id}"));
  return `there is ${known.map(([known]) => `\`${known}\``).join(", ")}`;
}

/**
 * The path of the first part of `path` that names a resource, with the first ID and the first format after it. Everything else is
 * ignored: another base, a version, extra slashes, a suffix in the wrong place. Undefined when no part names a resource.
 */
function pathLike(path: string, served: readonly Resource[]): string | undefined {
  const parts = path.slice(0, 500).toLowerCase().split(/[/.]+/);
  for (const [index, part] of parts.entries()) {
    const resource = resourceNamed(part, served);
    if (!resource) continue;
    const rest = parts.slice(index + 1);
    const id = rest.find((text) => toId(text) !== undefined);
    const format = rest.map((text) => nearest(text, formatNames)).find((name) => name !== undefined) ?? json.name;
    return `${basePath}${resource.path}${id ? `/${id}` : ""}.${format}`;
  }
  return undefined;
}

function resourceNamed(part: string, served: readonly Resource[]): Resource | undefined {
  const namesOf = ({ path, element }: Resource) => [path, lettersOf(element)];
  const meant = nearest(lettersOf(part), served.flatMap(namesOf));
  return meant === undefined ? undefined : served.find((resource) => namesOf(resource).includes(meant));
}
