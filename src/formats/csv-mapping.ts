// A mapping says which columns of a CSV file become which fields of records. It is for files of other programs. For example:
//   {"fields": {"Name": "Vendor", "Address.Country": {"column": "Land", "lookup": {"Norge": "NO"}}}, "skip": {"Vendor": [""]}}

import { nearest, nearestPath } from "../lib/text.ts";
import { exceedsMaxFaults, type Fault, invalidRecord } from "../model/errors.ts";
import { kindOf, textFault } from "../model/field.ts";
import { toId } from "../model/record.ts";
import { findLeaf, type Resource } from "../model/resource.ts";
import { type CellPlan, type CellSource, fieldNames } from "./csv.ts";
import { decodeJson } from "./json.ts";

/** The source of a field, before the column was searched in the header row of a file. */
interface ColumnSource extends Omit<CellSource, "index"> {
  /** The name of the column; absent for a constant. */
  readonly column?: string | undefined;
}

export interface CsvMapping {
  readonly sources: readonly ColumnSource[];
  readonly skip: readonly { readonly column: string; readonly values: ReadonlySet<string> }[];
}

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Parses a mapping for records of `resource` from its JSON text.
 * @throws ProblemError `bad-request` if the text is not JSON; `invalid-record` with all other errors
 */
export function readMapping(resource: Resource, text: string): CsvMapping {
  const { input, faults: malformed } = decodeJson(text);
  const faults = [...malformed];
  if (faults.length > 0) throw invalidRecord(faults);
  if (!isObject(input)) throw invalidRecord([{ field: "", detail: `must be an object, not ${kindOf(input)}` }]);
  checkMembers(input, ["fields", "skip"], "", faults);
  const fields = readObject(input.fields, "fields", faults);
  if (isObject(input.fields) && Object.keys(fields).length === 0)
    faults.push({ field: "fields", detail: 'names no field; write, for example, "Name": "Brand name"' });
  const sources = Object.entries(fields).map(([field, source]) => readSource(resource, field, source, faults));
  const skip = Object.entries(readObject(input.skip ?? {}, "skip", faults)).map(([column, values]) => ({
    column,
    values: new Set(readStrings(values, `skip.${shorten(column)}`, faults)),
  }));
  if (faults.length > 0) throw invalidRecord(faults);
  return { sources, skip };
}

/** Returns the cell plan of a mapping for a file with this header row. Reports an error for each column that the file does not have, or has twice. */
export function planMapping(mapping: CsvMapping, header: readonly string[]): { plan: CellPlan; faults: Fault[] } {
  const faults: Fault[] = [];
  const indexOf = (column: string, field: string): number => {
    const index = header.indexOf(column);
    if (index === -1) faults.push({ field, detail: `the file has no column ${columnHint(column, header)}` });
    else if (header.includes(column, index + 1))
      faults.push({ field, detail: `the file has the column \`${shorten(column)}\` more than once` });
    return index;
  };
  const sources = mapping.sources.map(({ column, ...source }) =>
    column === undefined ? source : { ...source, index: indexOf(column, source.field) },
  );
  const skip = mapping.skip.map(({ column, values }) => ({ index: indexOf(column, "skip"), values }));
  return { plan: { width: header.length, sources, skip }, faults };
}

/** Maximum columns that a message lists if no column has a similar name. */
const maxColumns = 20;

function columnHint(column: string, header: readonly string[]): string {
  const meant = nearest(column, header);
  const name = `\`${shorten(column)}\``;
  if (meant !== undefined) return `${name}; did you mean \`${meant}\`?`;
  const some = header.slice(0, maxColumns).join(", ").slice(0, 500);
  return `${name}; its columns are ${some}${header.length > maxColumns ? ", ..." : ""}`;
}

/** Parses the source of one field: the name of a column, or an object with `column` or `constant`. */
function readSource(resource: Resource, field: string, entry: unknown, faults: Fault[]): ColumnSource {
  const path = `fields.${shorten(field)}`;
  if (exceedsMaxFaults(faults)) return { field };
  if (!fieldNames(resource).includes(field)) {
    const meant = nearestPath(field, fieldNames(resource));
    faults.push({
      field: path,
      detail: `no such field of ${resource.plural}${meant ? `; did you mean \`${meant}\`?` : ""}`,
    });
    return { field };
  }
  if (typeof entry === "string") return { field, column: entry };
  const source = readObject(entry, path, faults, "the name of a column, or an object");
  if (source !== entry) return { field };
  checkMembers(source, ["column", "constant", "lookup", "otherwise"], path, faults);
  const { column, constant, otherwise } = readTexts(source, path, faults);
  for (const [name, value] of Object.entries({ constant, otherwise }))
    checkValue(resource, field, value, `${path}.${name}`, faults);
  const lookup = source.lookup === undefined ? undefined : readLookup(resource, field, source.lookup, faults);
  checkTogether(source, path, faults);
  return { field, column, constant, lookup, otherwise };
}

/** Checks that the members of a source can be combined. */
function checkTogether(source: JsonObject, field: string, faults: Fault[]): void {
  const has = (name: string) => Object.hasOwn(source, name);
  if (has("column") && has("constant"))
    faults.push({ field, detail: "has both `column` and `constant`; leave one out" });
  if (!has("column") && !has("constant")) faults.push({ field, detail: "has neither `column` nor `constant`" });
  if (has("lookup") && !has("column")) faults.push({ field, detail: "has a `lookup`, but no `column` to look up" });
  if (has("otherwise") && !has("lookup")) faults.push({ field, detail: "has `otherwise`, but no `lookup`" });
}

function readLookup(resource: Resource, field: string, input: unknown, faults: Fault[]): Map<string, string> {
  const path = `fields.${shorten(field)}.lookup`;
  const lookup = new Map<string, string>();
  for (const [content, value] of Object.entries(readObject(input, path, faults))) {
    if (exceedsMaxFaults(faults)) break;
    if (typeof value !== "string")
      faults.push({ field: `${path}.${shorten(content)}`, detail: `must be a string, not ${kindOf(value)}` });
    else if (checkValue(resource, field, value, `${path}.${shorten(content)}`, faults)) lookup.set(content, value);
  }
  return lookup;
}

/**
 * Returns whether `value` is valid in the field; if not, adds a field error. An empty value is accepted here, because `required` is checked for
 * each record.
 */
function checkValue(
  resource: Resource,
  field: string,
  value: string | undefined,
  path: string,
  faults: Fault[],
): boolean {
  if (value === undefined || value === "") return true;
  const leaf = findLeaf(resource, field);
  const isBadId = !leaf && toId(value) === undefined;
  const detail = leaf ? textFault(leaf.field, value) : isBadId ? "must be a whole number from 1" : undefined;
  if (detail !== undefined) faults.push({ field: path, detail });
  return detail === undefined;
}

/** Returns the members of a source that must be texts. */
function readTexts(source: JsonObject, path: string, faults: Fault[]) {
  const read = (name: string): string | undefined => {
    const value = source[name];
    if (value === undefined || typeof value === "string") return value;
    faults.push({ field: `${path}.${name}`, detail: `must be a string, not ${kindOf(value)}` });
    return undefined;
  };
  return { column: read("column"), constant: read("constant"), otherwise: read("otherwise") };
}

function readStrings(input: unknown, path: string, faults: Fault[]): string[] {
  if (Array.isArray(input) && input.every((item) => typeof item === "string")) return input;
  faults.push({ field: path, detail: 'must be a list of strings, such as ["", "n/a"]' });
  return [];
}

function readObject(input: unknown, path: string, faults: Fault[], expected = "an object"): JsonObject {
  if (isObject(input)) return input;
  faults.push({
    field: path,
    detail: input === undefined ? "is required" : `must be ${expected}, not ${kindOf(input)}`,
  });
  return {};
}

function checkMembers(input: JsonObject, known: readonly string[], path: string, faults: Fault[]): void {
  for (const name of Object.keys(input)) {
    if (known.includes(name) || exceedsMaxFaults(faults)) continue;
    const meant = nearest(name, known);
    const hint = meant ? `did you mean \`${meant}\`?` : `known members: ${known.join(", ")}`;
    faults.push({ field: path ? `${path}.${shorten(name)}` : shorten(name), detail: `no such member; ${hint}` });
  }
}

/** Shortens a name from the mapping for a message. */
function shorten(name: string): string {
  return name.slice(0, 100);
}

function isObject(input: unknown): input is JsonObject {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}
