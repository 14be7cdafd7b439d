import type { Format } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { xml } from "../formats/xml.ts";
import { nearest } from "../model/nearest.ts";
import { type Resource, servedOf } from "../model/resource.ts";

export const formats: readonly Format[] = [json, xml];

/** What a path stands for: all records of a resource in a format, or one of them. */
export interface Route {
  readonly resource: Resource;
  readonly format: Format;
  readonly isList: boolean;
  /** The methods it has (contract section 3). */
  readonly methods: readonly string[];
}

const base = "/restapi/";

export interface Routes {
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
    hint: (path) =>
      hint(
        path,
        served.map((resource) => resource.path),
        [...lists.keys()],
      ),
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
  const dot = path.lastIndexOf(".");
  return dot > slash ? items.get(path.slice(0, slash) + path.slice(dot)) : undefined;
}

/** A path as somebody may have meant it: `/restapi/` or not, a resource, an ID or not, a suffix or not. */
const guessable = /^\/*(?:restapi\/)?([^/.]+)(?:\/([^/.]*))?(?:\.([^/.]*))?\/*$/i;

function hint(path: string, resources: readonly string[], lists: readonly string[]): string {
  const [, name = "", id = "", suffix = ""] = guessable.exec(path) ?? [];
  const resource = nearest(name, resources);
  if (!resource) return `there is ${lists.map((list) => `\`${list}\``).join(", ")}`;
  const format =
    nearest(
      suffix,
      formats.map((known) => known.name),
    ) ?? json.name;
  const item = /^[0-9]+$/.test(id) ? `/${id}` : "";
  return `did you mean \`${base}${resource}${item}.${format}\`?`;
}
