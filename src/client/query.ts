import { inRange, shown } from "./options.ts";

/** A text that the field must equal, or contain without regard to case. */
export type FilterValue = string | number | { readonly contains: string };

/** Filters by the path of a field; several must all hold, and at most 16. For the ID also a list of them, at most 1000. */
export type Filter<Path extends string> = { readonly [P in Exclude<Path, "ID">]?: FilterValue } & {
  readonly ID?: FilterValue | { readonly in: readonly number[] };
};

/** What a list may be asked for, by the paths of the record's fields. */
export interface Query<Path extends string> {
  readonly filter?: Filter<Path>;
  /** Fields to sort by, `-` before one for descending. */
  readonly sort?: Path | `-${Path}` | readonly (Path | `-${Path}`)[];
  readonly limit?: number;
  readonly offset?: number;
}

type AnyQuery = Query<string> & { readonly fields?: readonly unknown[] };

const members = ["filter", "sort", "fields", "limit", "offset"];

/**
 * The query as the server takes it, with its `?`; empty without one.
 * @throws TypeError for what would be passed over, so that a mistake does not return every record
 */
export function toSearch(query: AnyQuery, known: readonly string[] = members): string {
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`\`${unknown}\` is not one of ${known.join(", ")}`);
  const { filter = {}, sort = [], fields = [], limit, offset } = query;
  const search = new URLSearchParams();
  for (const [path, value] of Object.entries(filter)) search.append(...toFilter(path, value));
  const order = [sort].flat().join();
  if (order) search.set("sort", order);
  if (fields.length > 0) search.set("fields", fields.join());
  if (limit !== undefined) search.set("limit", String(inRange("limit", limit, 1, 1000)));
  if (offset) search.set("offset", String(inRange("offset", offset, 0, Number.MAX_SAFE_INTEGER)));
  const text = search.toString();
  return text && `?${text}`;
}

function toFilter(path: string, value: unknown): [string, string] {
  if (typeof value === "string" || typeof value === "number") return [`filter[${path}]`, String(value)];
  const { contains, in: ids } = (value ?? {}) as { contains?: unknown; in?: unknown };
  if (typeof contains === "string") return [`filter[${path}][contains]`, contains];
  if (Array.isArray(ids)) return [`filter[${path}][in]`, ids.map(toId).join()];
  throw new TypeError(
    `the filter of \`${path}\` must be a text, a number, { contains } or { in }, not ${shown(value)}`,
  );
}

/** @throws TypeError unless `id` is a whole number from 1: anything else in a path could lead to another record */
export function toId(id: unknown): number {
  if (Number.isSafeInteger(id) && (id as number) >= 1) return id as number;
  throw new TypeError(`an ID is a whole number from 1, not ${shown(id)}`);
}
