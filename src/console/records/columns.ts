// The columns of a table of records. Every field is a column; the operator chooses which are shown, and the browser keeps the choice.

import { type RaRecord, useStore } from "react-admin";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { groupOf, labelOf } from "../api/declarations.ts";

/** Returns the paths of the fields with hidden columns, and a function that sets them. They are stored where react-admin's table reads them. */
export function useHiddenColumns({ path, fields }: ResourceInfo) {
  const paths = fields.map((field) => field.path);
  const shown = firstColumns(paths);
  return useStore<string[]>(
    `${path}.datatable`,
    paths.filter((one) => !shown.includes(one)),
  );
}

/** Returns the columns that are shown by default: the first four fields without a group, and town and country. */
function firstColumns(paths: readonly string[]): string[] {
  const own = paths.filter((path) => groupOf(path) === "");
  return [...own.slice(0, 4), ...paths.filter((path) => /\.(Town|Country)$/.test(path))];
}

/** Returns the heading of a field's column. Fields of the address have no group in it. */
export function columnLabel(path: string): string {
  return ["", "Address"].includes(groupOf(path)) ? labelOf(path) : `${labelOf(groupOf(path))}: ${labelOf(path)}`;
}

/** Returns the value of a field; the empty text if the record does not have it. @param path the dotted path of the field */
export function textAt(record: RaRecord, path: string): string {
  const value = path.split(".").reduce<unknown>((values, name) => Object(values)[name], record);
  return typeof value === "string" ? value : "";
}
