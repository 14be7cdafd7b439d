// The parameters of lists (contract section 6): paging, `sort`, `filter` and `fields`.

import { findNearestPath, formatHint } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { maxFilters, maxFilterValues, maxPageSize, maxSortFields } from "../../model/limits.ts";
import { filterName } from "../../model/parameters.ts";
import { type StorefrontRecord, toId, type Values } from "../../model/record.ts";
import { fieldPaths, findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import type { RecordFilter, SortField } from "../../store/memory/order.ts";
import { parseNumber, splitValues } from "../common/parameters.ts";

export interface ListParameters {
  /** 1 to 1000; undefined for all records. */
  readonly limit: number | undefined;
  readonly offset: number;
  readonly sort: readonly SortField[];
  readonly filters: readonly RecordFilter[];
  /** Paths; undefined for all fields. */
  readonly fields: ReadonlySet<string> | undefined;
  /** The query without `limit` and `offset`, for `Link`. */
  readonly otherParameters: string;
}

const names: ReadonlySet<string> = new Set(["limit", "offset", "sort", "fields"]);

/**
 * Returns undefined if there are no parameters, or only ignored ones. Removes the paging from `parameters`.
 * @throws ProblemError `bad-request` for a bad value or an unknown field
 */
export function parseListParameters(resource: Resource, parameters: URLSearchParams): ListParameters | undefined {
  if (![...parameters.keys()].some((name) => names.has(name) || filterName.test(name))) return undefined;
  const limit = parseNumber(parameters, "limit", { min: 1, max: maxPageSize, byDefault: undefined });
  const offset = parseNumber(parameters, "offset", { min: 0, byDefault: 0 });
  const sort = splitValues(parameters, "sort");
  const fields = splitValues(parameters, "fields");
  const filters = parseFilters(resource, parameters);
  parameters.delete("limit");
  parameters.delete("offset");
  return {
    limit,
    offset,
    sort: sort === undefined ? [] : parseSort(resource, sort),
    filters,
    fields: fields === undefined ? undefined : parseFields(resource, fields),
    otherParameters: parameters.toString(),
  };
}

/** Copies only the ID and `fields`, in the order they're declared. */
export function pickFields(record: StorefrontRecord, fields: ReadonlySet<string>): Partial<StorefrontRecord> {
  return { ID: record.ID, ...pick(record as unknown as Values, fields, "") };
}

/** Proxies reject headers that are longer than their buffer (4 KiB in nginx). */
const maxLinkLength = 4096;

/**
 * Returns `Link` to the other pages (RFC 8288); undefined without `limit`, or if it would be longer than 4 KiB.
 * @param total records on all pages
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

function parseSort(resource: Resource, names: readonly string[]): SortField[] {
  if (names.length > maxSortFields)
    throw new ProblemError("bad-request", `\`sort\`: at most ${maxSortFields} fields, not ${names.length}`);
  return names.map((name) => {
    rejectDirectionWord(resource, name);
    const descending = name.startsWith("-");
    return { textField: requireTextField(resource, "sort", descending ? name.slice(1) : name), descending };
  });
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

function parseFields(resource: Resource, paths: readonly string[]): ReadonlySet<string> {
  const known = fieldPaths(resource);
  const unknown = paths.find((path) => !known.includes(path));
  if (unknown !== undefined) throw unknownFieldError("fields", unknown, known);
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

/** Parses the filters. @throws ProblemError `bad-request` for an unknown field or operator, a bad value, a repeated filter, or too many filters or values */
function parseFilters(resource: Resource, parameters: URLSearchParams): RecordFilter[] {
  const filters = new Map<string, RecordFilter>();
  for (const [name, value] of parameters) {
    const [, path, operator = "equals"] = filterName.exec(name) ?? [];
    if (path === undefined) continue;
    const filter = parseFilter(resource, path, operator, value);
    if (filters.has(`${path} ${operator}`)) throw repeatedFilterError(path, filter);
    filters.set(`${path} ${operator}`, filter);
    if (filters.size > maxFilters) throw new ProblemError("bad-request", `\`filter\`: at most ${maxFilters} filters`);
  }
  return [...filters.values()];
}

function repeatedFilterError(path: string, { operator, textField }: RecordFilter): ProblemError {
  const name = operator === "equals" ? `filter[${path}]` : `filter[${path}][${operator}]`;
  const several = textField
    ? `several values, write \`filter[${path}][in]=A-1,A-2\``
    : "several IDs, write `filter[ID][in]=3,5,8`";
  const advice = operator === "contains" ? "send a request for each value" : `for ${several}`;
  return new ProblemError("bad-request", `\`${name}\` appears more than once; ${advice}`);
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
  throw unknownFieldError(parameter, path, ["ID", ...resource.textFields.map((known) => known.path)]);
}

function unknownFieldError(parameter: string, path: string, known: readonly string[]): ProblemError {
  const hint = formatHint(findNearestPath(path, known), `the fields are ${known.join(", ")}`);
  return new ProblemError("bad-request", `\`${parameter}\`: unknown field \`${path.slice(0, 100)}\`; ${hint}`);
}

function parseFilter(resource: Resource, path: string, operator: string, value: string): RecordFilter {
  const textField = requireTextField(resource, "filter", path);
  if (operator === "contains") return { textField, operator, values: [value] };
  if (operator === "equals") return { textField, operator, values: [textField ? value : parseId("filter[ID]", value)] };
  if (operator === "in") {
    const values = textField ? splitTexts(path, value) : value.split(",");
    if (values.length > maxFilterValues) {
      const wrong = `at most ${maxFilterValues} ${textField ? "values" : "IDs"}, not ${values.length}`;
      throw new ProblemError("bad-request", `\`filter[${path}][in]\`: ${wrong}`);
    }
    return { textField, operator, values: textField ? values : values.map((id) => parseId("filter[ID][in]", id)) };
  }
  const known = ["", "[contains]", "[in]"].map((one) => `\`filter[${path}]${one}=\``);
  throw new ProblemError(
    "bad-request",
    `\`filter\`: unknown operator \`${operator.slice(0, 40)}\`; ${path} supports ${new Intl.ListFormat("en-GB").format(known)}`,
  );
}

/**
 * Splits a list at its commas. As in CSV, a value can be in double quotes, with those in it doubled. It has to be if it's empty, starts with a quote, starts
 * or ends with white space, or contains a comma: most of these are mistakes, and would silently find nothing.
 */
function splitTexts(path: string, list: string): string[] {
  const next = /(?:"((?:[^"]|"")*)"|([^",\s](?:[^,]*[^,\s])?))(,|$)/y;
  const texts: string[] = [];
  for (let separator: string | undefined = ","; separator === ","; ) {
    const start = next.lastIndex;
    const found = next.exec(list);
    if (!found) throw unreadableTextError(path, texts.length + 1, list.slice(start).split(",", 1)[0] as string);
    const [, quoted, plain] = found;
    texts.push(quoted?.replaceAll('""', '"') ?? (plain as string));
    separator = found[3];
  }
  return texts;
}

function unreadableTextError(path: string, number: number, text: string): ProblemError {
  const why =
    text === ""
      ? 'is empty; for records whose field is empty, write `""`'
      : text.startsWith('"')
        ? 'has a quote too few or too many; put all of it in double quotes, and double those in it, as in `"6"" pipe"`'
        : "starts or ends with a space; leave it out, or put the value in double quotes";
  return new ProblemError("bad-request", `\`filter[${path}][in]\`: value ${number} ${why}`);
}

function parseId(parameter: string, value: string): string {
  if (toId(value) !== undefined) return value;
  const example = value.includes(",") ? "; for several, write `filter[ID][in]=3,5,8`" : "";
  throw new ProblemError(
    "bad-request",
    `\`${parameter}\`: IDs are whole numbers, starting at 1, not \`${value.slice(0, 40)}\`${example}`,
  );
}
