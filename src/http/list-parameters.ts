// The parameters of lists (contract section 6): paging, `sort`, `filter` and `fields`. Also rejects parameters that look like a mistake, for lists,
// look-ups and the feed.

import { BoundedCache } from "../lib/bounded-cache.ts";
import { findNearestPath, normalizeName } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import { maxFilters, maxIds, maxPageSize, maxSortFields } from "../model/limits.ts";
import { type StorefrontRecord, toId, type Values } from "../model/record.ts";
import { fieldPaths, findTextField, type Resource, type TextFieldPath } from "../model/resource.ts";
import type { Order, RecordFilter } from "../store/memory/order.ts";
import { joinValues, readNumber } from "./common/parameters.ts";

/** The parsed parameters of a list. */
export interface ListParameters {
  /** Maximum number of records, 1 to 1000; undefined for all records. */
  readonly limit: number | undefined;
  /** The number of records to skip. */
  readonly offset: number;
  readonly sort: readonly Order[];
  readonly filters: readonly RecordFilter[];
  /** The paths of the fields to return; undefined for all fields. */
  readonly fields: ReadonlySet<string> | undefined;
  /** The query without `limit` and `offset`, for `Link`. */
  readonly otherParameters: string;
}

/** The parsed queries of each resource; null for a query without a parameter of a list. */
const parsed = new WeakMap<Resource, BoundedCache<ListParameters | null>>();

const names: ReadonlySet<string> = new Set(["limit", "offset", "sort", "fields"]);

/**
 * Parses the parameters of a list; undefined if `query` contains none of them. Unknown parameters are ignored, unless they look like a mistake.
 * @throws ProblemError `bad-request` for a bad value, an unknown field, or a parameter that looks like a mistake
 */
export function parseListParameters(resource: Resource, query: string): ListParameters | undefined {
  if (query === "") return undefined;
  let queries = parsed.get(resource);
  if (!queries) {
    queries = new BoundedCache(256, 512, (one) => readParameters(resource, one) ?? null);
    parsed.set(resource, queries);
  }
  return queries.get(query) ?? undefined;
}

/**
 * Checks the query of a look-up. Look-ups have no parameters, and ignore parameters that do not look like a mistake.
 * @throws ProblemError `bad-request` for a parameter that looks like a mistake
 */
export function rejectLookUpParameters(resource: Resource, query: string): void {
  if (query !== "") rejectMistakenParameters(resource, unknownIn(new URLSearchParams(query)), false);
}

function readParameters(resource: Resource, query: string): ListParameters | undefined {
  const parameters = new URLSearchParams(query);
  rejectMistakenParameters(resource, unknownIn(parameters), true);
  if (![...parameters.keys()].some(isKnown)) return undefined;
  const limit = readNumber(parameters, "limit", { min: 1, max: maxPageSize, byDefault: undefined });
  const offset = readNumber(parameters, "offset", { min: 0, byDefault: 0 });
  const sort = joinValues(parameters, "sort");
  const fields = joinValues(parameters, "fields");
  const filters = readFilters(resource, parameters);
  parameters.delete("limit");
  parameters.delete("offset");
  return {
    limit,
    offset,
    sort: sort === undefined ? [] : readSort(resource, sort),
    filters,
    fields: fields === undefined ? undefined : readFields(resource, fields),
    otherParameters: parameters.toString(),
  };
}

function isKnown(name: string): boolean {
  return names.has(name) || filterName.test(name);
}

/** Returns the parameters that a list does not have. Of a repeated parameter, returns the last value. */
function unknownIn(parameters: URLSearchParams): ReadonlyMap<string, string> {
  return new Map([...parameters].filter(([name]) => !isKnown(name)));
}

/** Returns a copy of `record` with its ID and the fields in `fields` only, in the order of the declaration. */
export function pickFields(record: StorefrontRecord, fields: ReadonlySet<string>): Partial<StorefrontRecord> {
  return { ID: record.ID, ...pick(record as unknown as Values, fields, "") };
}

/** Maximum characters of a `Link`. Proxies reject header fields that are longer than their buffer (4 KiB in nginx). */
const maxLinkLength = 4096;

/**
 * Returns the header field `Link` to the other pages (RFC 8288); undefined without `limit`, and if it would be longer than 4 KiB.
 * @param total the number of records on all pages
 */
export function toLinkHeader(
  path: string,
  { limit, offset, otherParameters: rest }: ListParameters,
  total: number,
): string | undefined {
  if (limit === undefined) return undefined;
  const last = total === 0 ? 0 : Math.floor((total - 1) / limit) * limit;
  const pages: [string, number][] = [["first", 0]];
  if (offset > 0) pages.push(["prev", Math.max(0, Math.min(offset - limit, last))]);
  if (offset + limit < total) pages.push(["next", offset + limit]);
  pages.push(["last", last]);
  const query = `${path}?${rest}${rest === "" ? "" : "&"}`;
  const link = pages.map(([rel, start]) => `<${query}limit=${limit}&offset=${start}>; rel="${rel}"`).join(", ");
  return link.length <= maxLinkLength ? link : undefined;
}

function readSort(resource: Resource, names: readonly string[]): Order[] {
  if (names.length > maxSortFields) {
    throw new ProblemError("bad-request", `\`sort\`: at most ${maxSortFields} fields, not ${names.length}`);
  }
  return names.map((name) => readOrder(resource, name));
}

function readOrder(resource: Resource, name: string): Order {
  rejectDirectionWord(resource, name);
  const descending = name.startsWith("-");
  return { textField: requireTextField(resource, "sort", descending ? name.slice(1) : name), descending };
}

/** Rejects `Name desc`, `Name:asc` and `+Name` (`+` is a space in a query). @throws ProblemError `bad-request` */
function rejectDirectionWord(resource: Resource, name: string): void {
  const [, path = ""] = /^[ +]?([^ +:]+)(?:[ +:]+(?:asc|desc)\w*)?$/i.exec(name) ?? [];
  if (path === name || !(path === "ID" || findTextField(resource, path))) return;
  throw new ProblemError(
    "bad-request",
    `\`sort\`: write \`-${path}\` for descending and \`${path}\` for ascending, not \`${name.slice(0, 100)}\``,
  );
}

function readFields(resource: Resource, paths: readonly string[]): ReadonlySet<string> {
  const known = fieldPaths(resource);
  const unknown = paths.find((path) => !known.includes(path));
  if (unknown !== undefined) throw unknownField("fields", unknown, known);
  return new Set(paths);
}

function pick(values: Values, fields: ReadonlySet<string>, above: string): Values {
  const picked: Values = {};
  for (const [name, value] of Object.entries(values)) {
    if (fields.has(above + name)) picked[name] = value;
    else if (typeof value === "object") {
      const nested = pick(value, fields, `${above}${name}.`);
      if (Object.keys(nested).length > 0) picked[name] = nested;
    }
  }
  return picked;
}

// The filters of a list (contract section 6).

/** `filter[Name]` or `filter[Name][contains]`, with any text in the brackets. */
const filterName = /^filter\[([^\]]*)\](?:\[([^\]]*)\])?$/;

/** Parses the filters. @throws ProblemError `bad-request` for an unknown field or operator, a bad ID, or too many filters */
function readFilters(resource: Resource, parameters: URLSearchParams): RecordFilter[] {
  const filters: RecordFilter[] = [];
  for (const [name, value] of parameters) {
    const [, path, operator = "equals"] = filterName.exec(name) ?? [];
    if (path !== undefined) filters.push(readFilter(resource, path, operator, value));
  }
  if (filters.length > maxFilters) {
    throw new ProblemError("bad-request", `\`filter\`: at most ${maxFilters} filters, not ${filters.length}`);
  }
  if (filters.filter(({ operator }) => operator === "in").length > 1) {
    throw new ProblemError(
      "bad-request",
      "`filter[ID][in]` appears more than once; write one, with commas between the IDs",
    );
  }
  return filters;
}

/** Returns the text field at `path`; undefined for the ID. @throws ProblemError `bad-request` for an unknown field or a field group */
function requireTextField(resource: Resource, parameter: string, path: string): TextFieldPath | undefined {
  if (path === "ID") return undefined;
  const textField = findTextField(resource, path);
  if (textField) return textField;
  const inside = resource.textFields.find((one) => one.path.startsWith(`${path}.`));
  if (inside) {
    const detail = `\`${parameter}\`: \`${path}\` is a group of fields; use one of them, such as \`${inside.path}\``;
    throw new ProblemError("bad-request", detail);
  }
  throw unknownField(parameter, path, ["ID", ...resource.textFields.map((known) => known.path)]);
}

/** Returns the error for a field that is not in `known`. */
function unknownField(parameter: string, path: string, known: readonly string[]): ProblemError {
  const meant = findNearestPath(path, known);
  const hint = meant ? `did you mean \`${meant}\`?` : `there is ${known.join(", ")}`;
  return new ProblemError("bad-request", `\`${parameter}\`: no field \`${path.slice(0, 100)}\`; ${hint}`);
}

function readFilter(resource: Resource, path: string, operator: string, value: string): RecordFilter {
  const textField = requireTextField(resource, "filter", path);
  if (operator === "contains") return { textField, operator, values: [value] };
  if (operator === "equals") return { textField, operator, values: [textField ? value : readId("filter[ID]", value)] };
  if (operator === "in" && !textField) return { textField, operator, values: readIds(value) };
  const why = operator === "in" ? "only `ID` has `in`" : `unknown operator \`${operator.slice(0, 40)}\``;
  throw new ProblemError(
    "bad-request",
    `\`filter\`: ${why}; ${path} has \`filter[${path}]=\` and \`filter[${path}][contains]=\``,
  );
}

function readIds(list: string): string[] {
  const ids = list.split(",");
  if (ids.length > maxIds) {
    throw new ProblemError("bad-request", `\`filter[ID][in]\`: at most ${maxIds} IDs, not ${ids.length}`);
  }
  return ids.map((id) => readId("filter[ID][in]", id));
}

function readId(parameter: string, value: string): string {
  if (toId(value) !== undefined) return value;
  const example = value.includes(",") ? "; for several write `filter[ID][in]=3,5,8`" : "";
  throw new ProblemError(
    "bad-request",
    `\`${parameter}\`: an ID is a whole number from 1, not \`${value.slice(0, 40)}\`${example}`,
  );
}

// Parameters that look like a mistake (contract section 6). If the server ignored them, a client that asks for some records would get all of them.
// Only letters and digits of names are compared, so that case, brackets and dots do not matter.

const paging = "`limit` and `offset`, as in `?limit=100&offset=200`";

/** The suggestion for parameters that ask for changes since a time: only the feed has these. */
const feed = "`/restapi/changes.json?since=now`, the feed, for what has changed";

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
function rejectMistakenParameters(
  resource: Resource,
  unknown: Iterable<readonly [name: string, value: string]>,
  isList: boolean,
): void {
  for (const [name, value] of unknown) {
    const meant = suggestParameter(resource, name.slice(0, 200), value.slice(0, 40));
    if (!meant) continue;
    const where =
      isList || meant === feed ? "write" : `a look-up has none; in a list (\`/restapi/${resource.path}.json\`), write`;
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
    return `\`filter[ID][in]=3,5,8\`, or look one up by its path, such as \`/restapi/${resource.path}/3.json\``;
  const textField =
    findTextField(resource, path) ?? resource.textFields.find((inside) => inside.path.startsWith(`${path}.`));
  return `\`filter[${textField?.path}]=${value}\``;
}
