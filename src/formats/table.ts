// Turns the rows of CSV files and workbooks into records: plans which column becomes which field, and decodes each row.

import { describeOddity } from "../lib/characters.ts";
import { type FieldError, fault, fullLimits } from "../model/errors.ts";
import { findMeantField } from "../model/field-vocabulary.ts";
import { toId } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { fieldNames, type TableRow } from "./csv.ts";
import type { Decoded } from "./format.ts";

/** The source of a field's value: a constant or a cell. A lookup table can replace the content of the cell. */
export interface CellSource {
  /** The path of the field, or ID. */
  readonly field: string;
  readonly constant?: string | undefined;
  /** The index of the cell, if the source isn't a constant. */
  readonly index?: number | undefined;
  /** What the cell's text stands for. Default: itself. */
  readonly lookup?: Lookup | undefined;
  /** The value for text that isn't in `lookup`. If missing, such text is an error. */
  readonly otherwise?: string | undefined;
  /** Whether text that isn't in `lookup` is the value itself. */
  readonly keep?: boolean | undefined;
}

/** Values by text. Null for text whose value isn't known yet, which counts as missing. */
export type Lookup = ReadonlyMap<string, string | null>;

/** How the cells of a file become records. */
export interface CellPlan {
  /** The number of columns. A row may have fewer cells, or more if they're empty. */
  readonly width: number;
  /** The indexes of columns that have neither a name nor content, as far as the first rows show. */
  readonly unnamed: readonly number[];
  readonly sources: readonly CellSource[];
  /** A row is skipped if the cell `index` has one of `values`. */
  readonly skip: readonly { readonly index: number; readonly values: ReadonlySet<string> }[];
}

/** Returns what a spreadsheet calls the column at `index`, from 0: A to Z, then AA and so on. */
export function columnLetter(index: number): string {
  const before = index < 26 ? "" : columnLetter(Math.floor(index / 26) - 1);
  return before + String.fromCharCode(65 + (index % 26));
}

/** Returns the index of the column with these letters in a spreadsheet; infinite if they can't be a column's. */
export function columnIndex(letters: string): number {
  if (!/^[A-Z]{1,3}$/.test(letters)) return Number.POSITIVE_INFINITY;
  return [...letters].reduce((index, letter) => 26 * index + letter.charCodeAt(0) - 64, 0) - 1;
}

/** Returns how many cells there are up to the last one with content. */
export function contentWidth(cells: readonly string[]): number {
  return cells.findLastIndex((cell) => cell.trim() !== "") + 1;
}

/** Whether a column has annotations, such as the reason why a row was rejected. Such a column isn't a field. */
function isAnnotation(column: string): boolean {
  return column.startsWith("#");
}

/**
 * Returns the cell plan for a header row that names fields. Reports an error for each unknown or repeated column. Columns without a name at the end don't
 * count, because some programs end every line with a delimiter.
 * @param top the first rows
 */
export function planColumns(
  resource: Resource,
  cells: readonly string[],
  top: readonly TableRow[] = [],
): { plan: CellPlan; fieldErrors: FieldError[] } {
  const columns = fieldNames(resource);
  const header = cells.slice(0, contentWidth(cells));
  let unknown = 0;
  const unnamed: number[] = [];
  const fieldErrors = header.flatMap((name, index): FieldError[] => {
    if (isAnnotation(name)) return [];
    if (name.trim() === "") {
      unnamed.push(index);
      if (top.every((row) => (row.cells[index] ?? "").trim() === "")) return [];
      const detail = `column ${columnLetter(index)} has no name; name it, or map it by its letter with --map`;
      return [{ field: "", ...fault("invalid", detail) }];
    }
    if (!columns.includes(name)) {
      const meant = unknown++ < fullLimits.maxHints ? findMeantField(resource, name) : undefined;
      const oddity = describeOddity(name);
      const hint = `; did you mean ${meant}?${oddity === undefined ? "" : ` The name in the file ${oddity}`}`;
      const advice = unknown > 1 ? "" : otherNamesAdvice;
      return [
        { field: name.slice(0, 100), ...fault("unknown-field", (columns.includes(meant ?? "") ? hint : "") + advice) },
      ];
    }
    const first = header.indexOf(name);
    return first < index ? [{ field: name, ...fault("duplicate-field", sameNameAdvice(first, index)) }] : [];
  });
  const sources = header.flatMap((field, index) =>
    field.trim() === "" || isAnnotation(field) ? [] : [{ field, index }],
  );
  if (sources.length === 0)
    fieldErrors.push({
      field: "",
      ...fault("invalid", `the first row must name columns, not ${quote(header.join(","))}`),
    });
  return { plan: { width: header.length, unnamed, sources, skip: [] }, fieldErrors };
}

/**
 * Decodes the record in the cells of a row. Returns undefined if the plan skips the row. An empty ID counts as no ID. Cells that are missing at the end
 * are empty.
 */
export function decodeCells({ sources, skip }: CellPlan, cells: readonly string[]): Decoded | undefined {
  if (skip.some(({ index, values }) => values.has(cells[index] ?? ""))) return undefined;
  const input: Record<string, unknown> = {};
  const fieldErrors: FieldError[] = [];
  for (const source of sources) {
    const { field } = source;
    const content = source.constant ?? cells[source.index ?? 0] ?? "";
    const { lookup, otherwise = source.keep ? content : undefined } = source;
    const found = lookup ? (lookup.get(content) ?? otherwise) : content;
    if (found === undefined)
      fieldErrors.push({
        field,
        ...fault("invalid", `add ${quote(content)} to the lookup in the mapping, or an \`otherwise\``),
      });
    const value = found ?? content;
    if (field !== "ID") setPath(input, field.split("."), value);
    else if (value !== "") input.ID = toId(value) ?? value;
  }
  return { input, fieldErrors };
}

/** Returns the index of the first cell with content that belongs to no column, or undefined. */
export function findStrayCell({ width, unnamed }: CellPlan, cells: readonly string[]): number | undefined {
  const hasContent = (index: number) => (cells[index] ?? "").trim() !== "";
  const beyond = cells.length > width ? cells.findIndex((_, index) => index >= width && hasContent(index)) : -1;
  const index = unnamed.find(hasContent) ?? beyond;
  return index === -1 ? undefined : index;
}

const otherNamesAdvice = " (for other names, add --guess or --map; for another header row, --header-row)";

/** @param index the later of two columns with the same name */
function sameNameAdvice(first: number, index: number): string {
  return ` (columns ${columnLetter(first)} and ${columnLetter(index)} have the same name: rename one, or map one by its letter with --map)`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** Sets the value at `path` in `target`, and creates the missing objects on this path. */
function setPath(target: Record<string, unknown>, path: readonly string[], value: string): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const inner = target[name] ?? {};
  target[name] = inner;
  setPath(inner as Record<string, unknown>, rest, value);
}
