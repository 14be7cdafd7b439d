// Parameters that look like a mistake (contract section 6). If they were ignored, a client that wants some records would get all.
// Names are compared by their letters and digits alone, so that case, brackets and dots do not matter.

import { lettersOf } from "../lib/nearest.ts";
import { Refusal } from "../model/errors.ts";
import { fieldPaths, findLeaf, type Resource } from "../model/resource.ts";

const paging = "`limit` and `offset`, as in `?limit=100&offset=200`";

/** Where the changes since a moment are, which no list or look-up knows. */
const feed = "`/restapi/changes.json?since=now`, the feed, for what has changed";

/** The names that other interfaces and the feed use, and what to write here. */
const synonyms: readonly (readonly [names: string, instead: string])[] = [
  ["limit limits take top max maxresults size count", "`limit`, as in `?limit=100`"],
  ["perpage pagesize pagelimit itemsperpage", paging],
  ["offset skip start startindex pageoffset from", "`offset`, as in `?offset=200`"],
  ["page pages pagenumber pageno pagenum pageindex cursor", paging],
  ["pageinfo pagetoken nexttoken nextpagetoken startingafter endingbefore startafter after before first last", paging],
  ["sort sorts sortby order orderby ordering sorting", "`sort`, as in `?sort=Name`, or `?sort=-Name` for descending"],
  ["sortorder sortdir sortdirection orderdir dir direction asc desc", "`sort`, as in `?sort=-Name` for descending"],
  ["fields field select columns only", "`fields`, as in `?fields=Name`"],
  ["filter filters where", "`filter[Name]=Acme`"],
  ["ids idlist", "`filter[ID][in]=3,5,8`"],
  ["since updatedsince modifiedsince changedsince createdsince updatedatmin modifiedatmin createdatmin", feed],
  ["updatedafter modifiedafter createdafter wait resource collapse", feed],
  ["q query search searchterm find term keyword keywords", "`filter[Name][contains]=acm`"],
];

const instead = new Map(synonyms.flatMap(([names, text]) => names.split(" ").map((name) => [name, text] as const)));

/** The paths of a resource's fields by their letters, cached because a query may have thousands of parameters. */
const pathsByLetters = new WeakMap<Resource, ReadonlyMap<string, string>>();

/** Operators that some interfaces append to a field's name. */
const operators = /(?:contains|icontains|like|exact|startswith|eq|in)$/;

/**
 * Refuses unknown parameters whose name suggests that the client expects an effect.
 * @param unknown names and values of parameters that a list does not have
 * @param isList false for a look-up, which has no parameters
 * @throws Refusal `bad-request` that says what to write instead
 */
export function refuseMistakes(
  resource: Resource,
  unknown: Iterable<readonly [name: string, value: string]>,
  isList: boolean,
): void {
  for (const [name, value] of unknown) {
    const meant = meantBy(resource, name.slice(0, 200), value.slice(0, 40));
    if (!meant) continue;
    const where =
      isList || meant === feed ? "write" : `a look-up has none; in a list (\`/restapi/${resource.path}.json\`), write`;
    throw new Refusal("bad-request", `there is no parameter \`${name.slice(0, 100)}\`; ${where} ${meant}`);
  }
}

/** What to write in a list instead of a parameter; undefined when its name does not suggest that it has an effect. */
export function meantBy(resource: Resource, name: string, value: string): string | undefined {
  const letters = lettersOf(name);
  const field = fieldNamed(resource, letters);
  if (field) return toFilter(resource, field, value);
  const known = instead.get(letters);
  if (known) return known;
  // `filter.Name`, `filter[Name`, `filterName`, `where[Name]`
  const [, inside = ""] = /^(?:filters?|where)(.+)$/.exec(letters) ?? [];
  const filtered = fieldNamed(resource, inside);
  if (filtered) return toFilter(resource, filtered, value);
  // `sort[Name]`, `fields[]`, `filter[Nmae`
  const [, parameter = ""] = /^(limit|offset|page|sort|fields|filters?|where)\W/i.exec(name) ?? [];
  return instead.get(parameter.toLowerCase());
}

/** The path of the field with the name `letters`, with or without its group and an operator after it. */
function fieldNamed(resource: Resource, letters: string): string | undefined {
  let paths = pathsByLetters.get(resource);
  if (!paths) {
    paths = byLetters(fieldPaths(resource));
    pathsByLetters.set(resource, paths);
  }
  return paths.get(letters) ?? paths.get(letters.replace(operators, ""));
}

/** Of fields with the same name in several groups, the first. A whole path wins over the last name of another. */
function byLetters(paths: readonly string[]): ReadonlyMap<string, string> {
  const lastNames = paths.map((path) => [lettersOf(path.slice(path.lastIndexOf(".") + 1)), path] as const);
  return new Map([...lastNames.reverse(), ...paths.map((path) => [lettersOf(path), path] as const)]);
}

function toFilter(resource: Resource, path: string, value: string): string {
  if (path === "ID")
    return `\`filter[ID][in]=3,5,8\`, or look one up by its path, such as \`/restapi/${resource.path}/3.json\``;
  const leaf = findLeaf(resource, path) ?? resource.leaves.find((inside) => inside.path.startsWith(`${path}.`));
  return `\`filter[${leaf?.path}]=${value}\``;
}
