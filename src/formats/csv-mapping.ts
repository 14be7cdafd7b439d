// A mapping says which columns of another program's CSV file become which fields of records. For example:
//   {"fields": {"Name": "Vendor", "Address.Country": {"column": "Land", "lookup": {"Norge": "NO"}}}, "skip": {"Vendor": [""]}}

import { findNearest, findNearestPath } from "../lib/text.ts";
import { type FieldError, fault, fullLimits, hasTooManyFieldErrors, invalidRecordError } from "../model/errors.ts";
import { isJsonObject, unknownFieldFault, validateText, wrongTypeFault } from "../model/field.ts";
import { idFault, toId } from "../model/record.ts";
import { findTextField, type Resource } from "../model/resource.ts";
import { fieldNames } from "./csv.ts";
import { decodeJson } from "./json.ts";
import { type CellPlan, type CellSource, columnIndex, columnLetter, type Lookup } from "./table.ts";

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
export function parseMapping(resource: Resource, text: string): CsvMapping {
  const { input, fieldErrors: malformed } = decodeJson(text);
  const fieldErrors = [...malformed];
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  if (!isJsonObject(input)) throw invalidRecordError([{ field: "", ...wrongTypeFault("object", input) }]);
  checkMembers(input, ["fields", "skip"], "", fieldErrors);
  const fields = parseObject(input.fields, "fields", fieldErrors);
  if (isJsonObject(input.fields) && Object.keys(fields).length === 0)
    fieldErrors.push({ field: "fields", ...fault("required", ', such as `{"Name": "Brand name"}`') });
  const sources = Object.entries(fields).map(([field, source]) => parseSource(resource, field, source, fieldErrors));
  const skip = Object.entries(parseObject(input.skip ?? {}, "skip", fieldErrors)).map(([column, values]) => ({
    column,
    values: new Set(parseStrings(values, `skip.${shorten(column)}`, fieldErrors)),
  }));
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return { sources, skip };
}

/** Writes a mapping as JSON text that `parseMapping` reads. */
export function formatMapping({ sources, skip }: CsvMapping): string {
  const entries = sources.map(({ field, column, lookup, ...source }) => {
    const isName = column !== undefined && lookup === undefined;
    return [field, isName ? column : { column, ...source, lookup: lookup && Object.fromEntries(lookup) }];
  });
  const skipped = skip.map(({ column, values }) => [column, [...values]]);
  const mapping = {
    fields: Object.fromEntries(entries),
    skip: skip.length === 0 ? undefined : Object.fromEntries(skipped),
  };
  return `${JSON.stringify(mapping, null, 2)}\n`;
}

/** What to replace text in a field's column with; undefined if that isn't known. */
interface SuggestedValues {
  readonly field: string;
  readonly contents: readonly { readonly content: string; readonly suggestion?: string | undefined }[];
}

/** Adds replacements to the lookups of a mapping, or null if they aren't known. New lookups keep all other text. */
export function withLookups(mapping: CsvMapping, values: readonly SuggestedValues[]): CsvMapping {
  const sources = mapping.sources.map((source): ColumnSource => {
    const found = values.find(({ field }) => field === source.field);
    if (!found || source.column === undefined) return source;
    const lookup = new Map(source.lookup);
    for (const { content, suggestion = null } of found.contents) lookup.set(content, lookup.get(content) ?? suggestion);
    return { ...source, lookup, keep: source.lookup ? source.keep : true };
  });
  return { ...mapping, sources };
}

/**
 * Returns the cell plan of a mapping for a table with this header row. A column is called by its name, or by its letter if no column has that name. Reports
 * an error for each column that the table does not have, or has twice.
 * @param width the number of columns, with or without a name
 * @param start the index of column A
 */
export function planMapping(
  mapping: CsvMapping,
  header: readonly string[],
  width = header.length,
  start = 0,
): { plan: CellPlan; fieldErrors: FieldError[] } {
  const fieldErrors: FieldError[] = [];
  const indexOf = (column: string, field: string): number => {
    const index = header.indexOf(column);
    const other = index === -1 ? -1 : header.indexOf(column, index + 1);
    const lettered = index === -1 ? start + columnIndex(column) : -1;
    if (index === -1 && lettered < width) return lettered;
    if (index === -1) {
      const hint = fieldErrors.length < fullLimits.maxHints ? columnHint(column, header) : "";
      fieldErrors.push({ field, ...fault("invalid", `the file has no column \`${shorten(column)}\`${hint}`) });
    } else if (other !== -1) {
      const letters = [index, other].map((one) => columnLetter(one - start)).join(" and ");
      const detail = `the file has two columns \`${shorten(column)}\`; use their letters, ${letters}, instead of the name`;
      fieldErrors.push({ field, ...fault("invalid", detail) });
    }
    return index;
  };
  const sources = mapping.sources.map(({ column, ...source }) =>
    column === undefined ? source : { ...source, index: indexOf(column, source.field) },
  );
  const skip = mapping.skip.map(({ column, values }) => ({ index: indexOf(column, "skip"), values }));
  const used = [...sources, ...skip].map((one) => ("index" in one ? one.index + 1 : 0));
  return { plan: { width: Math.max(header.length, ...used), unnamed: [], sources, skip }, fieldErrors };
}

/** Maximum columns that a message lists if no column has a similar name. */
const maxColumns = 20;

function columnHint(column: string, header: readonly string[]): string {
  // Letters are all alike.
  const meant = column.length < 3 ? undefined : findNearest(column, header);
  if (meant !== undefined) return `; did you mean \`${meant}\`?`;
  const some = header.slice(0, maxColumns).join(", ").slice(0, 500);
  return `; its columns are ${some}${header.length > maxColumns ? ", ..." : ""}`;
}

/** Parses the source of one field: the name of a column, or an object with `column` or `constant`. */
function parseSource(resource: Resource, field: string, entry: unknown, fieldErrors: FieldError[]): ColumnSource {
  const path = `fields.${shorten(field)}`;
  if (hasTooManyFieldErrors(fieldErrors)) return { field };
  if (!fieldNames(resource).includes(field)) {
    const meant = findNearestPath(field, fieldNames(resource));
    fieldErrors.push({ field: path, ...fault("unknown-field", meant ? `; did you mean \`${meant}\`?` : "") });
    return { field };
  }
  if (typeof entry === "string") return { field, column: entry };
  const source = parseObject(entry, path, fieldErrors, "; or send the name of a column");
  if (source !== entry) return { field };
  checkMembers(source, ["column", "constant", "lookup", "otherwise", "keep"], path, fieldErrors);
  const { column, constant, otherwise } = parseTexts(source, path, fieldErrors);
  for (const [name, value] of Object.entries({ constant, otherwise }))
    checkValue(resource, field, value, `${path}.${name}`, fieldErrors);
  const lookup = source.lookup === undefined ? undefined : parseLookup(resource, field, source.lookup, fieldErrors);
  const { keep } = source;
  if (keep !== undefined && typeof keep !== "boolean")
    fieldErrors.push({ field: `${path}.keep`, ...wrongTypeFault("boolean", keep) });
  checkTogether(source, path, fieldErrors);
  return { field, column, constant, lookup, otherwise, keep: keep === true || undefined };
}

/** Checks that the members of a source can be combined. */
function checkTogether(source: JsonObject, field: string, fieldErrors: FieldError[]): void {
  const has = (name: string) => Object.hasOwn(source, name);
  const add = (detail: string) => fieldErrors.push({ field, ...fault("invalid", detail) });
  if (has("column") && has("constant")) add("use either `column` or `constant`, not both");
  if (!has("column") && !has("constant")) add("add `column` or `constant`");
  if (has("lookup") && !has("column")) add("add the `column` for `lookup`");
  for (const name of ["otherwise", "keep"])
    if (has(name) && !has("lookup")) add(`\`${name}\` only works with \`lookup\`; add one`);
  if (has("otherwise") && has("keep")) add("use either `otherwise` or `keep`, not both");
}

function parseLookup(resource: Resource, field: string, input: unknown, fieldErrors: FieldError[]): Lookup {
  const path = `fields.${shorten(field)}.lookup`;
  const lookup = new Map<string, string | null>();
  for (const [content, value] of Object.entries(parseObject(input, path, fieldErrors))) {
    if (hasTooManyFieldErrors(fieldErrors)) break;
    if (value === null) lookup.set(content, null);
    else if (typeof value !== "string")
      fieldErrors.push({ field: `${path}.${shorten(content)}`, ...wrongTypeFault("string", value) });
    else if (checkValue(resource, field, value, `${path}.${shorten(content)}`, fieldErrors)) lookup.set(content, value);
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
  fieldErrors: FieldError[],
): boolean {
  if (value === undefined || value === "") return true;
  const textField = findTextField(resource, field);
  const wrongId = textField || toId(value) !== undefined ? undefined : idFault(value);
  const wrong = textField ? validateText(textField.field, value) : wrongId;
  if (wrong) fieldErrors.push({ field: path, ...wrong });
  return wrong === undefined;
}

/** Returns the members of a source that must be texts. */
function parseTexts(source: JsonObject, path: string, fieldErrors: FieldError[]) {
  const read = (name: string): string | undefined => {
    const value = source[name];
    if (value === undefined || typeof value === "string") return value;
    fieldErrors.push({ field: `${path}.${name}`, ...wrongTypeFault("string", value) });
    return undefined;
  };
  return { column: read("column"), constant: read("constant"), otherwise: read("otherwise") };
}

function parseStrings(input: unknown, path: string, fieldErrors: FieldError[]): string[] {
  if (Array.isArray(input) && input.every((item) => typeof item === "string")) return input;
  fieldErrors.push({ field: path, ...fault("wrong-type", ' of strings, such as ["", "n/a"]', { expected: "array" }) });
  return [];
}

function parseObject(input: unknown, path: string, fieldErrors: FieldError[], hint = ""): JsonObject {
  if (isJsonObject(input)) return input;
  fieldErrors.push({
    field: path,
    ...(input === undefined ? fault("required") : wrongTypeFault("object", input, hint)),
  });
  return {};
}

function checkMembers(input: JsonObject, known: readonly string[], path: string, fieldErrors: FieldError[]): void {
  for (const name of Object.keys(input)) {
    if (known.includes(name) || hasTooManyFieldErrors(fieldErrors)) continue;
    fieldErrors.push({ field: path ? `${path}.${shorten(name)}` : shorten(name), ...unknownFieldFault(name, known) });
  }
}

/** Shortens a name from the mapping for a message. */
function shorten(name: string): string {
  return name.slice(0, 100);
}
