import { type Format, formats } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { lettersOf, nearest } from "../lib/nearest.ts";
import { toId } from "../model/record.ts";
import { type Resource, servedOf } from "../model/resource.ts";

const formatNames = formats.map(({ name }) => name);

/** What a path stands for: all records of a resource in a format, or one of them. */
export interface Route {
  readonly resource: Resource;
  readonly format: Format;
  readonly isList: boolean;
  /** The methods it has (contract section 3). */
  readonly methods: readonly string[];
}

const base = "/restapi/";

interface Routes {
  /** What `path` stands for; undefined when nothing does. */
  find(path: string): Route | undefined;
  /** What does exist, for somebody who asked for `path`. */
  hint(path: string): string;
}

/** The routes of every resource that is served, in every format. */
export function createRoutes(resources: readonly Resource[]): Routes {
  const served = servedOf(resources);
  const lists = new Map<string, Route>();
  const items = new Map<string, Route>();
  for (const resource of served) {
    for (const format of formats) {
      lists.set(`${base}${resource.path}.${format.name}`, toRoute(resource, format, true));
      items.set(`${base}${resource.path}/.${format.name}`, toRoute(resource, format, false));
    }
  }
  return {
    find: (path) => lists.get(path) ?? findItem(path, items),
    hint: (path) => hint(path, served) ?? `there is ${[...lists.keys()].map((list) => `\`${list}\``).join(", ")}`,
  };
}

/** What stands for the record's ID in the path of an item; it is not known to be an ID. */
export function idIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, path.lastIndexOf("."));
}

function toRoute(resource: Resource, format: Format, isList: boolean): Route {
  const reading = ["GET", "HEAD"];
  const writing = [...(isList ? ["POST"] : []), "PUT", "PATCH", "DELETE"];
  const methods = [...reading, ...(resource.access === "written" ? writing : []), "OPTIONS"];
  return { resource, format, isList, methods };
}

/** `/restapi/brands/12.json`: the map knows it without the ID. */
function findItem(path: string, items: ReadonlyMap<string, Route>): Route | undefined {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.indexOf(".", slash);
  return dot > slash ? items.get(path.slice(0, slash) + path.slice(dot)) : undefined;
}

/**
 * The path that was probably meant: the first part of `path` that names a resource, a number after it, and a format. Everything
 * else is left out: another base, a version, slashes too many, a suffix in the wrong place.
 */
function hint(path: string, served: readonly Resource[]): string | undefined {
  const parts = path.slice(0, 500).toLowerCase().split(/[/.]+/);
  for (const [index, part] of parts.entries()) {
    const resource = resourceNamed(part, served);
    if (!resource) continue;
    const rest = parts.slice(index + 1);
    const id = rest.find((one) => toId(one) !== undefined);
    const format = rest.map((one) => nearest(one, formatNames)).find((name) => name !== undefined) ?? json.name;
    return `did you mean \`${base}${resource.path}${id ? `/${id}` : ""}.${format}\`?`;
  }
  return undefined;
}

function resourceNamed(part: string, served: readonly Resource[]): Resource | undefined {
  const letters = lettersOf(part);
  const namesOf = ({ path, element }: Resource) => [path, lettersOf(element)];
  const meant = nearest(letters, served.flatMap(namesOf));
  return meant === undefined ? undefined : served.find((resource) => namesOf(resource).includes(meant));
}
