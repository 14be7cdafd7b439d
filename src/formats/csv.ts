// Records as rows of CSV (RFC 4180): one column per text field, named by its dotted path.

import { nearestPath } from "../lib/nearest.ts";
import type { Fault } from "../model/errors.ts";
import { type StorefrontRecord, toId, valueAt } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { toCsvRow } from "./csv-rows.ts";
import type { Decoded } from "./format.ts";

/** The column names: ID, then every text field. */
function csvColumns(resource: Resource): string[] {
  return ["ID", ...resource.leaves.map((leaf) => leaf.path)];
}

/** The header row with its line end. */
export function csvHeader(resource: Resource): string {
  return toCsvRow(csvColumns(resource));
}

/** A row per record, with line ends. */
export function csvLines(resource: Resource, records: readonly StorefrontRecord[]): string {
  const rows = records.map((record) => [record.ID, ...resource.leaves.map((leaf) => valueAt(record, leaf))]);
  return rows.map(toCsvRow).join("");
}

/** The faults of a header row: unknown and repeated columns. */
export function headerFaults(resource: Resource, header: readonly string[]): Fault[] {
  const columns = csvColumns(resource);
  return header.flatMap((name, index) => {
    if (!columns.includes(name)) {
      const meant = nearestPath(name, columns);
      return [{ field: name, detail: `no such column${meant ? `; did you mean ${meant}?` : ""}` }];
    }
    return header.indexOf(name) < index ? [{ field: name, detail: "the column appears more than once" }] : [];
  });
}

/** The record in the cells of a row. An empty ID counts as no ID. */
export function decodeCsvLine(header: readonly string[], cells: readonly string[]): Decoded {
  const input: Record<string, unknown> = {};
  if (cells.length !== header.length) {
    return {
      input,
      faults: [{ field: "", detail: `has ${cells.length} cells, but the header has ${header.length}` }],
    };
  }
  header.forEach((name, index) => {
    const cell = cells[index] ?? "";
    if (name === "ID") {
      if (cell !== "") input.ID = toId(cell) ?? cell;
    } else setPath(input, name.split("."), cell);
  });
  return { input, faults: [] };
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
