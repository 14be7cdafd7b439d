import { inRange, shown } from "./options.ts";

/** What a list may be asked for, by the paths of the record's fields. */
export interface Query<Path extends string> {
  /** A text that the field must equal, or contain without regard to case. Several must all hold. */
  readonly filter?: { readonly [P in Path]?: string | number | { readonly contains: string } };
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
  const { contains } = (value ?? {}) as { contains?: unknown };
  if (typeof contains === "string") return [`filter[${path}][contains]`, contains];
  throw new TypeError(`the filter of \`${path}\` must be a text, a number or { contains }, not ${shown(value)}`);
}
