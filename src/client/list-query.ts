import { checkInteger, formatValue } from "./options.ts";

/** The value the field must equal, or text it must contain (ignoring case). */
export type FilterValue = string | number | { readonly contains: string };

/** Filters by up to 16 fields; records must match all of them. With `in`, a field can have any of up to 1000 values, as long as the URL has fewer than 15,000 characters. */
export type Filter<Path extends string> = {
  readonly [P in Exclude<Path, "ID">]?: FilterValue | { readonly in: readonly string[] };
} & { readonly ID?: FilterValue | { readonly in: readonly number[] } };

/** Filters, sorts and pages a list. Fields are named by their paths, such as `Address.Town`. */
export interface Query<Path extends string> {
  readonly filter?: Filter<Path>;
  /** Fields to sort by. Prefix one with `-` for descending order. */
  readonly sort?: Path | `-${Path}` | readonly (Path | `-${Path}`)[];
  readonly limit?: number;
  readonly offset?: number;
}

type AnyQuery = Query<string> & { readonly fields?: readonly unknown[] };

const queryMembers = ["filter", "sort", "fields", "limit", "offset"];

/**
 * Formats the query string including its `?`, or returns an empty string for an empty query.
 * @throws TypeError for a member that isn't in `allowed`, or for a filter of the wrong type, because ignoring it could return every record
 */
export function toSearch(query: AnyQuery, allowed: readonly string[] = queryMembers): string {
  checkMembers(query, allowed);
  const { filter = {}, sort = [], fields = [], limit, offset } = query;
  const search = new URLSearchParams();
  for (const [path, value] of Object.entries(filter)) search.append(...toFilter(path, value));
  const order = [sort].flat().join();
  if (order) search.set("sort", order);
  if (fields.length > 0) search.set("fields", fields.join());
  if (limit !== undefined) search.set("limit", String(checkInteger("limit", limit, 1, 1000)));
  if (offset) search.set("offset", String(checkInteger("offset", offset, 0, Number.MAX_SAFE_INTEGER)));
  const text = search.toString();
  return text && `?${text}`;
}

/** @throws TypeError if `value` has a member that isn't in `allowed` */
export function checkMembers(value: object, allowed: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw new TypeError(`unknown option \`${unknown}\`; use ${allowed.join(", ")}`);
}

function toFilter(path: string, value: unknown): [string, string] {
  if (typeof value === "string" || typeof value === "number") return [`filter[${path}]`, String(value)];
  const { contains, in: values } = (value ?? {}) as { contains?: unknown; in?: unknown };
  if (typeof contains === "string") return [`filter[${path}][contains]`, contains];
  if (Array.isArray(values) && values.length === 0) throw new TypeError(`the filter for \`${path}\` has no values`);
  if (Array.isArray(values))
    return [`filter[${path}][in]`, values.map((one) => (path === "ID" ? checkId(one) : toListed(one))).join()];
  throw new TypeError(
    `the filter for \`${path}\` must be a string, a number, { contains } or { in }, not ${formatValue(value)}`,
  );
}

/** Puts a value in double quotes if it contains a comma, for example. */
function toListed(value: unknown): string {
  if (typeof value !== "string") throw new TypeError(`the values of { in } must be strings, not ${formatValue(value)}`);
  return /^$|^[\s"]|,|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** @throws TypeError unless `id` is a whole number from 1. Text could turn the path into another record's */
export function checkId(id: unknown): number {
  if (typeof id === "number" && Number.isSafeInteger(id) && id >= 1) return id;
  throw new TypeError(`an ID must be a whole number from 1, not ${formatValue(id)}`);
}
