// Suggests what to request instead of a path that doesn't exist.

import { formats } from "../formats/format.ts";
import { json } from "../formats/json.ts";
import { findNearest, normalizeName } from "../lib/text.ts";
import { toId } from "../model/record.ts";
import { basePath, publicResources, type Resource } from "../model/resource.ts";

const formatNames = formats.map(({ name }) => name);

/** What other servers call our paths. Paths that this server doesn't have are ignored. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  "/mcp": ["sse"],
  "/healthz": ["health", "healthcheck", "live", "livez", "liveness", "ping", "status"],
  "/readyz": ["ready", "readiness"],
  "/openapi.json": ["openapi", "swagger.json", "api-docs.json"],
  "/openapi.yaml": ["openapi.yml", "swagger.yaml", "swagger.yml"],
  "/docs": ["documentation", "swagger", "swagger-ui", "api-docs", "redoc"],
};

const adminNames = ["metrics", "console", "admin", "operator"];

/** Longer folders aren't listed. */
const maxListed = 10;

/** Anyone can send unknown paths, so a suggestion must be cheap. */
const [maxPathLength, maxSegments, maxParts] = [300, 8, 12];

/**
 * Creates a function that suggests the path the client probably meant or, if none is similar, lists the available ones.
 * @param paths all paths, with `{id}` in place of an ID
 */
export function createPathHint(resources: readonly Resource[], paths: readonly string[]): (path: string) => string {
  const inInterface = paths.filter((path) => path.startsWith(basePath));
  const findInInterface = createInterfaceSearch(resources, inInterface);
  const others = createNameSearch(paths.filter((path) => !inInterface.includes(path)));
  const lists = inInterface.filter((path) => !path.includes("{id}"));
  const documentation = paths.includes("/docs") ? "; `/docs` describes them" : "";
  return (sent) => {
    const segments = sent.slice(0, maxPathLength).split("/").filter(Boolean).slice(0, maxSegments);
    // The documentation's folders contain resource names too.
    const isDocumentation = others.folders.has(segments[0] ?? "");
    const meant = isDocumentation
      ? (others.findWhole(segments) ?? others.findPart(segments.slice(1)))
      : findInInterface(segments);
    if (meant !== undefined) return `did you mean \`${meant}\`?`;
    if (isDocumentation) {
      const beside = paths.filter((path) => path.startsWith(`/${segments[0]}/`));
      return beside.length > maxListed ? "`/docs/guide` lists the pages" : `try ${quoted(beside)}`;
    }
    if (adminNames.some((name) => stemOf(segments[0] ?? "") === name || stemOf(segments.at(-1) ?? "") === name))
      return "the console and `/metrics` are on the admin listener; ask this server's operator for its address";
    const other = others.findPart(segments) ?? others.findWhole(segments) ?? others.findWhole(segments.slice(-1));
    return other === undefined ? `available paths: ${quoted(lists)}${documentation}` : `did you mean \`${other}\`?`;
  };
}

function quoted(paths: readonly string[]): string {
  return paths.map((path) => `\`${path}\``).join(", ");
}

/** Returns `brands` for `/restapi/brands/{id}.json`. */
function nameIn(path: string): string {
  return path.slice(basePath.length).split(/[/.]/)[0] as string;
}

/**
 * Creates a function that finds a similar path in the REST interface. It takes the first part that resembles a name, and the first ID and format after
 * that. It ignores everything else: another base path, a version, a misplaced suffix.
 * @param known the interface's paths
 */
function createInterfaceSearch(
  resources: readonly Resource[],
  known: readonly string[],
): (segments: readonly string[]) => string | undefined {
  /** Names in these paths, by what clients may write instead (normalized). */
  const names = new Map([
    ...publicResources(resources).map(({ element, path }): [string, string] => [normalizeName(element), path]),
    ...known.map((path): [string, string] => [normalizeName(nameIn(path)), nameIn(path)]),
  ]);
  return (segments) => {
    const parts = segments.flatMap((segment) => segment.toLowerCase().split(/\.+/)).slice(0, maxParts);
    for (const [index, part] of parts.entries()) {
      const name = names.get(findNearest(normalizeName(part), names.keys()) ?? "");
      if (name === undefined) continue;
      const rest = parts.slice(index + 1);
      const id = rest.find((text) => toId(text) !== undefined);
      const format =
        rest.map((text) => findNearest(text, formatNames)).find((found) => found !== undefined) ?? json.name;
      const wanted = [...(id ? [`${basePath}${name}/{id}.${format}`] : []), `${basePath}${name}.${format}`];
      const path = wanted.find((one) => known.includes(one)) ?? known.find((one) => nameIn(one) === name);
      return path?.replace("{id}", id ?? "1");
    }
    return undefined;
  };
}

/** Searches paths outside the interface, whose whole path is a name: `/mcp`, `/openapi.json`, `/docs/guide`. */
function createNameSearch(paths: readonly string[]) {
  // Files can also be found by their name alone. Pages can't, because the name may mean records that this server doesn't have, such as clients.
  const files = paths.filter((path) => path.includes("."));
  const entries: [name: string, path: string][] = [
    ...files.map((path): [string, string] => [path.slice(1, -extensionOf(path).length), path]),
    ...files.map((path): [string, string] => [path.slice(path.lastIndexOf("/") + 1), path]),
    ...paths.flatMap((path) => (otherNames[path] ?? []).map((name): [string, string] => [name, path])),
    ...paths.map((path): [string, string] => [path.slice(1), path]),
  ].filter(([name]) => name !== "");
  const exact = new Map(entries.map(([name, path]) => [normalizeName(name), path]));
  const stems = new Map<string, Map<string, string>>();
  for (const [name, path] of entries) {
    const extension = extensionOf(name);
    stems.set(extension, (stems.get(extension) ?? new Map()).set(stemOf(name), path));
  }
  return {
    folders: new Set(paths.flatMap((path) => /^\/([^/]+)\//.exec(path)?.[1] ?? [])),
    /** Returns the path named by the longest run of segments, or the last of equally long ones. */
    findPart(segments: readonly string[]): string | undefined {
      for (let length = segments.length; length > 0; length--) {
        for (let start = segments.length - length; start >= 0; start--) {
          const run = segments.slice(start, start + length).join("/");
          const path = exact.get(normalizeName(run)) ?? exact.get(stemOf(run));
          if (path !== undefined) return path;
        }
      }
      return undefined;
    },
    /** Returns the path whose name is most similar to all segments together, with the same extension. */
    findWhole(segments: readonly string[]): string | undefined {
      const sent = segments.join("/");
      const alike = stems.get(extensionOf(sent));
      return alike?.get(findNearest(stemOf(sent), alike.keys()) ?? "");
    },
  };
}

/** Lower-case, with the dot; empty if there is none. */
function extensionOf(path: string): string {
  return /\.[a-z0-9]+$/i.exec(path)?.[0].toLowerCase() ?? "";
}

/** The path without its extension, normalized. */
function stemOf(path: string): string {
  return normalizeName(path.slice(0, path.length - extensionOf(path).length));
}
