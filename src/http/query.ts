// The parameters of a list (contract section 6).

import { Refusal } from "../model/errors.ts";
import { nearest } from "../model/nearest.ts";
import type { StorefrontRecord, Values } from "../model/record.ts";
import { fieldPaths, findLeaf, type Leaf, type Resource } from "../model/resource.ts";
import type { Order } from "../store/order.ts";
import type { Filter } from "../store/selection.ts";

export interface ListQuery {
  /** Most records to return, 1 to 1000; undefined for all. */
  readonly limit: number | undefined;
  /** How many to pass over. */
  readonly offset: number;
  readonly sort: readonly Order[];
  readonly filters: readonly Filter[];
  /** The paths to return; undefined for all. */
  readonly fields: ReadonlySet<string> | undefined;
  /** The query without `limit` and `offset`. */
  readonly rest: string;
}

const longest = 1000;

/** What was read of queries before. Clients send few different ones. */
const known = new WeakMap<Resource, Map<string, ListQuery | undefined>>();
/** How many to remember of a resource, and how long they may be. */
const mostKnown = 256;
const longestKnown = 512;

/**
 * What the query asks of the list; undefined when it asks nothing. Parameters of other names are ignored.
 * @throws Refusal `bad-request` for a bad value or an unknown field
 */
export function readListQuery(resource: Resource, query: string): ListQuery | undefined {
  if (query === "") return undefined;
  const queries = known.get(resource) ?? new Map<string, ListQuery | undefined>();
  known.set(resource, queries);
  if (queries.has(query)) return queries.get(query);
  const read = readParameters(resource, query);
  if (queries.size >= mostKnown) queries.clear();
  if (query.length <= longestKnown) queries.set(query, read);
  return read;
}

function readParameters(resource: Resource, query: string): ListQuery | undefined {
  const parameters = new URLSearchParams(query);
  const isAsked = [...parameters.keys()].some((name) => /^(?:limit|offset|sort|fields|filter)(?:\[|$)/.test(name));
  if (!isAsked) return undefined;
  const limit = single(parameters, "limit");
  const offset = single(parameters, "offset");
  const sort = single(parameters, "sort");
  const fields = single(parameters, "fields");
  const filters = readFilters(resource, parameters);
  parameters.delete("limit");
  parameters.delete("offset");
  return {
    limit: limit === undefined ? undefined : readNumber("limit", limit, 1, longest),
    offset: offset === undefined ? 0 : readNumber("offset", offset, 0, Number.MAX_SAFE_INTEGER),
    sort: sort === undefined ? [] : readSort(resource, sort),
    filters,
    fields: fields === undefined ? undefined : readFields(resource, fields),
    rest: parameters.toString(),
  };
}

/** `record` with only the fields in `fields`, in the order of the declaration. */
export function project(record: StorefrontRecord, fields: ReadonlySet<string>): Partial<StorefrontRecord> {
  return { ID: record.ID, ...pick(record as unknown as Values, fields, "") };
}

/** Most characters of a `Link`: proxies take no longer headers than their buffer (4 KiB in nginx). */
const longestLink = 4096;

/** Where the other pages are (RFC 8288); undefined without `limit`, and when it would be longer than 4 KiB. */
export function toLink(path: string, { limit, offset, rest }: ListQuery, total: number): string | undefined {
  if (limit === undefined) return undefined;
  const last = total === 0 ? 0 : Math.floor((total - 1) / limit) * limit;
  const pages: [string, number][] = [["first", 0]];
  if (offset > 0) pages.push(["prev", Math.max(0, Math.min(offset - limit, last))]);
  if (offset + limit < total) pages.push(["next", offset + limit]);
  pages.push(["last", last]);
  const query = `${path}?${rest}${rest === "" ? "" : "&"}`;
  const link = pages.map(([rel, start]) => `<${query}limit=${limit}&offset=${start}>; rel="${rel}"`).join(", ");
  return link.length <= longestLink ? link : undefined;
}

function single(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new Refusal("bad-request", `\`${name}\` appears more than once`);
  return values[0];
}

function readNumber(name: string, value: string, least: number, most: number): number {
  const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  const range = most === longest ? `from ${least} to ${most}` : `from ${least}`;
  throw new Refusal("bad-request", `\`${name}\` must be a whole number ${range}, not \`${value.slice(0, 40)}\``);
}

/** A field that comes again decides nothing. It is passed over, since a thousand of them would cost seconds to sort by. */
function readSort(resource: Resource, value: string): Order[] {
  const orders = new Map<Leaf | undefined, Order>();
  for (const name of value.split(",")) {
    const order = readOrder(resource, name);
    if (!orders.has(order.leaf)) orders.set(order.leaf, order);
  }
  return [...orders.values()];
}

function readOrder(resource: Resource, name: string): Order {
  const descending = name.startsWith("-");
  return { leaf: readLeaf(resource, "sort", descending ? name.slice(1) : name), descending };
}

function readFilters(resource: Resource, parameters: URLSearchParams): Filter[] {
  const filters: Filter[] = [];
  for (const [name, value] of parameters) {
    if (!/^filter(?:\[|$)/.test(name)) continue;
    const parts = /^filter\[([^\]]*)\](?:\[([^\]]*)\])?$/.exec(name);
    if (!parts) throw new Refusal("bad-request", `\`${name.slice(0, 100)}\` is no filter; write \`filter[Name]=Acme\``);
    const [, path = "", operator] = parts;
    if (operator !== undefined && operator !== "contains") {
      throw new Refusal("bad-request", `\`${operator.slice(0, 40)}\` is no filter operator; there is \`contains\``);
    }
    filters.push({ leaf: readLeaf(resource, "filter", path), operator: operator ?? "equals", value });
  }
  return filters;
}

function readLeaf(resource: Resource, parameter: string, path: string): Leaf | undefined {
  if (path === "ID") return undefined;
  const leaf = findLeaf(resource, path);
  if (!leaf) throw unknownField(parameter, path, ["ID", ...resource.leaves.map((known) => known.path)]);
  return leaf;
}

function readFields(resource: Resource, value: string): ReadonlySet<string> {
  const paths = value.split(",");
  const known = fieldPaths(resource);
  const unknown = paths.find((path) => !known.includes(path));
  if (unknown !== undefined) throw unknownField("fields", unknown, known);
  return new Set(paths);
}

function unknownField(parameter: string, path: string, known: readonly string[]): Refusal {
  const meant = nearest(path, known);
  const hint = meant ? `did you mean \`${meant}\`?` : `there is ${known.join(", ")}`;
  return new Refusal("bad-request", `\`${parameter}\`: no field \`${path.slice(0, 100)}\`; ${hint}`);
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
