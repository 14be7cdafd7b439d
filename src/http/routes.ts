import type { Format } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { xml } from "../formats/xml.ts";
import { nearest } from "../model/nearest.ts";
import type { Resource } from "../model/resource.ts";

export const formats: readonly Format[] = [json, xml];

/** What a path stands for: all records of a resource in a format, or one of them. */
export interface Route {
  readonly resource: Resource;
  readonly format: Format;
  /** As the path has it, and not known to be an ID; undefined for the list. */
  readonly id: string | undefined;
}

const base = "/restapi/";
const suffixes = formats.map((format) => `.${format.name}`);

export interface Routes {
  /** What `path` stands for; undefined when nothing does. */
  find(path: string): Route | undefined;
  /** What does exist, for somebody who asked for `path`. */
  hint(path: string): string;
}

/** The routes of every resource that is served, in every format. */
export function createRoutes(resources: readonly Resource[]): Routes {
  const served = resources.filter((resource) => resource.access !== "system");
  const lists = new Map<string, Route>();
  const items = new Map<string, Route>();
  for (const resource of served) {
    for (const format of formats) {
      const route = { resource, format, id: undefined };
      lists.set(`${base}${resource.path}.${format.name}`, route);
      items.set(`${base}${resource.path}/.${format.name}`, route);
    }
  }
  return {
    find: (path) => lists.get(path) ?? findItem(path, items),
    hint: (path) => hint(path, [...lists.keys()]),
  };
}

/** `/restapi/brands/12.json`: the map knows it without the digits. */
function findItem(path: string, items: ReadonlyMap<string, Route>): Route | undefined {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.lastIndexOf(".");
  if (dot <= slash) return undefined;
  const route = items.get(path.slice(0, slash) + path.slice(dot));
  return route && { ...route, id: path.slice(slash, dot) };
}

function hint(path: string, lists: readonly string[]): string {
  const id = /\/([^/]+?)(?:\.[A-Za-z]+)?$/.exec(path)?.[1];
  const known = lists.flatMap((list) => [list, withId(list, id)]);
  const meant = nearest(path.replace(/\/+$/, ""), known) ?? nearest(withoutEnding(path), lists.map(withoutEnding));
  if (meant) return `did you mean \`${known.includes(meant) ? meant : `${meant}.json`}\`?`;
  return `there is ${lists.map((list) => `\`${list}\``).join(", ")}`;
}

function withId(list: string, id: string | undefined): string {
  if (!id || !/^[0-9]+$/.test(id)) return list;
  const suffix = suffixes.find((ending) => list.endsWith(ending)) ?? "";
  return `${list.slice(0, -suffix.length)}/${id}${suffix}`;
}

function withoutEnding(path: string): string {
  return path.replace(/\.[A-Za-z]*$/, "").replace(/\/+$/, "");
}
