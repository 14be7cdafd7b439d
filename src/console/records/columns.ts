// The columns of a table of records. Every field is a column; the operator chooses which are shown, and the browser keeps the choice.

import type { ResourceInfo } from "../../admin/api/types.ts";
import { useStored } from "../shell/stored.ts";
import { groupOf } from "../text/fields.ts";
import { groupedColumns } from "./known-fields.tsx";

/** Returns the paths of the fields with hidden columns, and a function that sets them. */
export function useHiddenColumns({ path, fields }: ResourceInfo) {
  const paths = fields.map((field) => field.path);
  const shown = firstColumns(paths);
  return useStored<string[]>(
    `${path}.hidden-columns`,
    paths.filter((one) => !shown.includes(one)),
  );
}

/** Returns the columns that are shown by default: the first four fields without a group, and town and country. */
function firstColumns(paths: readonly string[]): string[] {
  const own = paths.filter((path) => groupOf(path) === "");
  return [...own.slice(0, 4), ...groupedColumns(paths)];
}
