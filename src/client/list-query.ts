import { checkedInteger, shown } from "./options.ts";

/** The value that a field must equal, or a text that it must contain (ignoring case). */
export type FilterValue = string | number | { readonly contains: string };

/** Filters by field, at most 16. A record must match all of them. `ID` also accepts a list of at most 1000 IDs. */
export type Filter<Path extends string> = { readonly [P in Exclude<Path, "ID">]?: FilterValue } & {
  readonly ID?: FilterValue | { readonly in: readonly number[] };
};

/** Which records a list contains, and in which order. Fields are named by their paths, such as `Address.Town`. */
export interface Query<Path extends string> {
  readonly filter?: Filter<Path>;
  /** Fields to sort by. A leading `-` means descending. */
  readonly sort?: Path | `-${Path}` | readonly (Path | `-${Path}`)[];
  readonly limit?: number;
  readonly offset?: number;
}

type AnyQuery = Query<string> & { readonly fields?: readonly unknown[] };

const queryMembers = ["filter", "sort", "fields", "limit", "offset"];

/**
 * Formats the query string with its `?`. Returns an empty string for an empty query.
 * @throws TypeError for a member that is not in `allowed`, or for a filter of a wrong type. Otherwise a mistake would return every record
 */
export function toSearch(query: AnyQuery, allowed: readonly string[] = queryMembers): string {
  checkedMembers(query, allowed);
  const { filter = {}, sort = [], fields = [], limit, offset } = query;
  const search = new URLSearchParams();
  for (const [path, value] of Object.entries(filter)) search.append(...toFilter(path, value));
  const order = [sort].flat().join();
  if (order) search.set("sort", order);
  if (fields.length > 0) search.set("fields", fields.join());
  if (limit !== undefined) search.set("limit", String(checkedInteger("limit", limit, 1, 1000)));
  if (offset) search.set("offset", String(checkedInteger("offset", offset, 0, Number.MAX_SAFE_INTEGER)));
  const text = search.toString();
  return text && `?${text}`;
}

/** Checks the names of members. @throws TypeError if `value` has a member that is not in `allowed` */
export function checkedMembers(value: object, allowed: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw new TypeError(`\`${unknown}\` is not one of ${allowed.join(", ")}`);
}

function toFilter(path: string, value: unknown): [string, string] {
  if (typeof value === "string" || typeof value === "number") return [`filter[${path}]`, String(value)];
  const { contains, in: ids } = (value ?? {}) as { contains?: unknown; in?: unknown };
  if (typeof contains === "string") return [`filter[${path}][contains]`, contains];
  if (Array.isArray(ids)) return [`filter[${path}][in]`, ids.map(checkedId).join()];
  throw new TypeError(
    `the filter of \`${path}\` must be a string, a number, { contains } or { in }, not ${shown(value)}`,
  );
}

/** Checks an ID. @throws TypeError unless `id` is a whole number from 1. Otherwise a text could make the path lead to another record. */
export function checkedId(id: unknown): number {
  if (typeof id === "number" && Number.isSafeInteger(id) && id >= 1) return id;
  throw new TypeError(`an ID must be a whole number from 1, not ${shown(id)}`);
}
