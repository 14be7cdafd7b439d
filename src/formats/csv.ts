// CSV (RFC 4180) for people with spreadsheets: one column per text field, named by its dotted path.

import { nearestPath } from "../lib/nearest.ts";
import type { Fault } from "../model/errors.ts";
import { type StorefrontRecord, toId, valueAt } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { toCsvRow } from "./csv-rows.ts";
import type { Decoded } from "./format.ts";

/** The names of the columns in their order: ID, then every text field. */
function csvColumns(resource: Resource): string[] {
  return ["ID", ...resource.leaves.map((leaf) => leaf.path)];
}

/** The header line, with its line end. */
export function csvHeader(resource: Resource): string {
  return toCsvRow(csvColumns(resource));
}

/** A line for each of `records`, with line ends. */
export function csvLines(resource: Resource, records: readonly StorefrontRecord[]): string {
  const rows = records.map((record) => [record.ID, ...resource.leaves.map((leaf) => valueAt(record, leaf))]);
  return rows.map(toCsvRow).join("");
}

/** What is wrong with a header line: columns that are no fields, or stand there twice. */
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

/** A record from a line's cells. An empty ID is none. */
export function decodeCsvLine(header: readonly string[], cells: readonly string[]): Decoded {
  const input: Record<string, unknown> = {};
  if (cells.length !== header.length) {
    return {
      input,
      faults: [{ field: "", detail: `has ${cells.length} cells where the header has ${header.length}` }],
    };
  }
  header.forEach((name, index) => {
    const cell = cells[index] ?? "";
    if (name === "ID") {
      if (cell !== "") input.ID = toId(cell) ?? cell;
    } else place(input, name.split("."), cell);
  });
  return { input, faults: [] };
}

function place(input: Record<string, unknown>, path: readonly string[], cell: string): void {
  let target = input;
  for (const name of path.slice(0, -1)) {
    target[name] ??= {};
    target = target[name] as Record<string, unknown>;
  }
  target[path.at(-1) as string] = cell;
}
