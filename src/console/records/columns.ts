// The columns of a table of records: every field is one, of which the operator chooses some. The browser remembers the choice.

import { type RaRecord, useStore } from "react-admin";
import { groupOf, labelOf, type ResourceDeclaration } from "../declarations.ts";

/** The paths of the fields whose columns are hidden, where react-admin's table looks for them, and a function that changes them. */
export function useHiddenColumns({ path, fields }: ResourceDeclaration) {
  const paths = fields.map((field) => field.path);
  const shown = firstColumns(paths);
  return useStore<string[]>(
    `${path}.datatable`,
    paths.filter((one) => !shown.includes(one)),
  );
}

/** The fields of the record itself, and where it is. */
function firstColumns(paths: readonly string[]): string[] {
  const own = paths.filter((path) => groupOf(path) === "");
  return [...own.slice(0, 4), ...paths.filter((path) => /\.(Town|Country)$/.test(path))];
}

export function columnLabel(path: string): string {
  return ["", "Address"].includes(groupOf(path)) ? labelOf(path) : `${labelOf(groupOf(path))}: ${labelOf(path)}`;
}

/** The value of a field; the empty text if the record has none. @param path dotted */
export function textAt(record: RaRecord, path: string): string {
  const value = path.split(".").reduce<unknown>((values, name) => Object(values)[name], record);
  return typeof value === "string" ? value : "";
}
