// The columns of a table of records. Every field is a column; the operator chooses which are shown, and the browser keeps the choice.

import { useStore } from "react-admin";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { groupOf } from "../text/fields.ts";
import { groupedColumns } from "./known-fields.tsx";

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
  return [...own.slice(0, 4), ...groupedColumns(paths)];
}
