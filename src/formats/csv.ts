// Records as rows of CSV (RFC 4180): one column per text field, named by its dotted path.

import { nearestPath } from "../lib/nearest.ts";
import type { Fault } from "../model/errors.ts";
import { type StorefrontRecord, toId, valueAt } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { toCsvRow } from "./csv-rows.ts";
import type { Decoded } from "./format.ts";

/** Where the value of a field comes from: a constant, or a cell, perhaps through a table. */
export interface CellSource {
  /** The path of the field, or ID. */
  readonly field: string;
  readonly constant?: string | undefined;
  /** The index of the cell, if there is no constant. */
  readonly index?: number | undefined;
  /** The value for each content of the cell. */
  readonly lookup?: ReadonlyMap<string, string> | undefined;
  /** The value for a cell that `lookup` does not have; if absent, such a cell is a fault. */
  readonly otherwise?: string | undefined;
}

/** How the cells of a table become records. */
export interface CellPlan {
  /** The number of cells of each row. */
  readonly width: number;
  readonly sources: readonly CellSource[];
  /** Rows with one of these contents in this cell are left out. */
  readonly skip: readonly { readonly index: number; readonly values: ReadonlySet<string> }[];
}

/** The names of the fields of a record: ID, then every text field. */
export function fieldNames(resource: Resource): string[] {
  return ["ID", ...resource.leaves.map((leaf) => leaf.path)];
}

/** The header row with its line end. */
export function csvHeader(resource: Resource): string {
  return toCsvRow(fieldNames(resource));
}

/** A row per record, with line ends. */
export function csvLines(resource: Resource, records: readonly StorefrontRecord[]): string {
  const rows = records.map((record) => [record.ID, ...resource.leaves.map((leaf) => valueAt(record, leaf))]);
  return rows.map((row) => toCsvRow(row)).join("");
}

/** Whether a column is for notes, such as why a row was refused: it belongs to no field. */
function isNote(column: string): boolean {
  return column.startsWith("#");
}

/** The plan for a header row that names fields, and its faults: unknown and repeated columns. */
export function planColumns(resource: Resource, header: readonly string[]): { plan: CellPlan; faults: Fault[] } {
  const columns = fieldNames(resource);
  const faults = header.flatMap((name, index) => {
    if (isNote(name)) return [];
    if (name === "")
      return [{ field: "", detail: `column ${index + 1} has no name; name it, or choose columns with --map` }];
    if (!columns.includes(name)) {
      const meant = nearestPath(name, columns);
      return [{ field: name.slice(0, 100), detail: `no such column${meant ? `; did you mean ${meant}?` : ""}` }];
    }
    return header.indexOf(name) < index ? [{ field: name, detail: "the column appears more than once" }] : [];
  });
  const sources = header.map((field, index) => ({ field, index })).filter(({ field }) => !isNote(field));
  return { plan: { width: header.length, sources, skip: [] }, faults };
}

/** The record in the cells of a row; undefined if the plan leaves the row out. An empty ID counts as no ID. */
export function decodeCsvLine({ width, sources, skip }: CellPlan, cells: readonly string[]): Decoded | undefined {
  if (cells.length !== width) {
    return { input: {}, faults: [{ field: "", detail: `has ${cells.length} cells, but the header has ${width}` }] };
  }
  if (skip.some(({ index, values }) => values.has(cells[index] ?? ""))) return undefined;
  const input: Record<string, unknown> = {};
  const faults: Fault[] = [];
  for (const source of sources) {
    const { field } = source;
    const content = source.constant ?? cells[source.index ?? 0] ?? "";
    const found = source.lookup ? (source.lookup.get(content) ?? source.otherwise) : content;
    if (found === undefined) faults.push({ field, detail: `the mapping has no entry for ${quote(content)}` });
    const value = found ?? content;
    if (field !== "ID") setPath(input, field.split("."), value);
    else if (value !== "") input.ID = toId(value) ?? value;
  }
  return { input, faults };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** Sets the value at `path`, and creates the objects on the way. */
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
