// The parameters of a list (contract section 6).

import { BoundedCache } from "../lib/bounded-cache.ts";
import { Refusal } from "../model/errors.ts";
import { maxPageSize, maxSortFields } from "../model/list-bounds.ts";
import type { StorefrontRecord, Values } from "../model/record.ts";
import { fieldPaths, findLeaf, type Resource } from "../model/resource.ts";
import type { Order } from "../store/memory/order.ts";
import type { RecordFilter } from "../store/memory/record-filter.ts";
import { filterName, readFilters, readLeaf, unknownField } from "./filters.ts";
import { refuseMistakes } from "./mistakes.ts";
import { joined, readNumber, single } from "./parameters.ts";

export interface ListQuery {
  /** 1 to 1000; undefined for all records. */
  readonly limit: number | undefined;
  /** Records to skip. */
  readonly offset: number;
  readonly sort: readonly Order[];
  readonly filters: readonly RecordFilter[];
  /** The paths to return; undefined for all. */
  readonly fields: ReadonlySet<string> | undefined;
  /** The query without `limit` and `offset`. */
  readonly rest: string;
}

/** Parsed queries of each resource, null for one that has no parameter of a list. */
const parsed = new WeakMap<Resource, BoundedCache<ListQuery | null>>();

const names: ReadonlySet<string> = new Set(["limit", "offset", "sort", "fields"]);

/**
 * The parameters in `query`; undefined when there are none. Unknown parameters are ignored, unless they look like a mistake.
 * @throws Refusal `bad-request` for a bad value, an unknown field, or a parameter that looks like a mistake
 */
export function readListQuery(resource: Resource, query: string): ListQuery | undefined {
  if (query === "") return undefined;
  let queries = parsed.get(resource);
  if (!queries) {
    queries = new BoundedCache(256, 512, (one) => readParameters(resource, one) ?? null);
    parsed.set(resource, queries);
  }
  return queries.get(query) ?? undefined;
}

/**
 * Checks the query of a look-up, which has no parameters.
 * @throws Refusal `bad-request` for a parameter that looks like a mistake
 */
export function refuseLookUpMistakes(resource: Resource, query: string): void {
  if (query !== "") refuseMistakes(resource, unknownIn(new URLSearchParams(query)), false);
}

function readParameters(resource: Resource, query: string): ListQuery | undefined {
  const parameters = new URLSearchParams(query);
  refuseMistakes(resource, unknownIn(parameters), true);
  if (![...parameters.keys()].some(isKnown)) return undefined;
  const limit = single(parameters, "limit");
  const offset = single(parameters, "offset");
  const sort = joined(parameters, "sort");
  const fields = joined(parameters, "fields");
  const filters = readFilters(resource, parameters);
  parameters.delete("limit");
  parameters.delete("offset");
  return {
    limit: limit === undefined ? undefined : readNumber("limit", limit, 1, maxPageSize),
    offset: offset === undefined ? 0 : readNumber("offset", offset, 0, Number.MAX_SAFE_INTEGER),
    sort: sort === undefined ? [] : readSort(resource, sort),
    filters,
    fields: fields === undefined ? undefined : readFields(resource, fields),
    rest: parameters.toString(),
  };
}

function isKnown(name: string): boolean {
  return names.has(name) || filterName.test(name);
}

/** The parameters that a list does not have, each name once. */
function unknownIn(parameters: URLSearchParams): ReadonlyMap<string, string> {
  return new Map([...parameters].filter(([name]) => !isKnown(name)));
}

/** `record` with only the fields in `fields`, in the order of the declaration. */
export function project(record: StorefrontRecord, fields: ReadonlySet<string>): Partial<StorefrontRecord> {
  return { ID: record.ID, ...pick(record as unknown as Values, fields, "") };
}

/** Characters of a `Link`: proxies refuse header fields that are longer than their buffer (4 KiB in nginx). */
const maxLinkLength = 4096;

/** `Link` to the other pages (RFC 8288); undefined without `limit`, and when it would be longer than 4 KiB. */
export function toLink(path: string, { limit, offset, rest }: ListQuery, total: number): string | undefined {
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
    throw new Refusal("bad-request", `\`sort\`: at most ${maxSortFields} fields, not ${names.length}`);
  }
  return names.map((name) => readOrder(resource, name));
}

function readOrder(resource: Resource, name: string): Order {
  refuseDirection(resource, name);
  const descending = name.startsWith("-");
  return { leaf: readLeaf(resource, "sort", descending ? name.slice(1) : name), descending };
}

/** Refuses `Name desc`, `Name:asc` and `+Name` (`+` is a space in a query). */
function refuseDirection(resource: Resource, name: string): void {
  const [, path = ""] = /^[ +]?([^ +:]+)(?:[ +:]+(?:asc|desc)\w*)?$/i.exec(name) ?? [];
  if (path === name || !(path === "ID" || findLeaf(resource, path))) return;
  throw new Refusal(
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
