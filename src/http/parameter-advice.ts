// Advice for parameters that look like a mistake, in lists, look-ups and the feed (contract section 6). If the server ignored them, a client that asks
// for some records would get all of them. Only letters and digits of names are compared, so that case, brackets and dots do not matter.

import { normalizeName } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import { basePath, fieldPaths, findTextField, type Resource } from "../model/resource.ts";

const paging = "`limit` and `offset`, as in `?limit=100&offset=200`";

/** The suggestion for parameters that ask for changes since a time: only the feed has these. */
const feed = `\`${basePath}changes.json?since=now\`, the feed, for what has changed`;

/** Names that clients may write because other interfaces or the feed have them, normalized; and the text that says what to write instead. */
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

/** The paths of a resource's fields by normalized name. They are cached, because a query may have thousands of parameters. */
const pathsByLetters = new WeakMap<Resource, ReadonlyMap<string, string>>();

/** Operators that other interfaces append to the name of a field. */
const operators = /(?:contains|icontains|like|exact|startswith|eq|in)$/;

/**
 * Rejects unknown parameters if their name suggests that the client expects an effect.
 * @param unknown names and values of parameters that a list does not have
 * @param isList false for a look-up, which has no parameters
 * @throws ProblemError `bad-request`, which says what to write instead
 */
export function rejectMistakenParameters(
  resource: Resource,
  unknown: Iterable<readonly [name: string, value: string]>,
  isList: boolean,
): void {
  for (const [name, value] of unknown) {
    const meant = suggestParameter(resource, name.slice(0, 200), value.slice(0, 40));
    if (!meant) continue;
    const where =
      isList || meant === feed
        ? "write"
        : `a look-up has none; in a list (\`${basePath}${resource.path}.json\`), write`;
    throw new ProblemError("bad-request", `there is no parameter \`${name.slice(0, 100)}\`; ${where} ${meant}`);
  }
}

/** Returns a text that says what to write in a list instead of a parameter; undefined if its name does not suggest that it has an effect. */
export function suggestParameter(resource: Resource, name: string, value: string): string | undefined {
  const letters = normalizeName(name);
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

/** Finds the path of a field by normalized name, with or without its group, and with or without an operator at the end. */
function fieldNamed(resource: Resource, letters: string): string | undefined {
  let paths = pathsByLetters.get(resource);
  if (!paths) {
    paths = byLetters(fieldPaths(resource));
    pathsByLetters.set(resource, paths);
  }
  return paths.get(letters) ?? paths.get(letters.replace(operators, ""));
}

/**
 * Maps normalized names to paths: each whole path, and the last name of each path. If several paths have the same last name, the first one wins. A
 * whole path wins over a last name.
 */
function byLetters(paths: readonly string[]): ReadonlyMap<string, string> {
  const lastNames = paths.map((path) => [normalizeName(path.slice(path.lastIndexOf(".") + 1)), path] as const);
  return new Map([...lastNames.reverse(), ...paths.map((path) => [normalizeName(path), path] as const)]);
}

function toFilter(resource: Resource, path: string, value: string): string {
  if (path === "ID")
    return `\`filter[ID][in]=3,5,8\`, or look one up by its path, such as \`${basePath}${resource.path}/3.json\``;
  const textField =
    findTextField(resource, path) ?? resource.textFields.find((inside) => inside.path.startsWith(`${path}.`));
  return `\`filter[${textField?.path}]=${value}\``;
}
