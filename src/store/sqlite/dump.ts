import type { Database } from "bun:sqlite";
import type { DumpedRow } from "../../model/dump.ts";
import { columnsOf, siteColumnOf, type TableName, tablesWith } from "../tables.ts";
import { fromSqlite } from "./database.ts";

type Cell = string | number | null;

interface DumpOptions {
  /** The name of the table that has the rows of a table, if it differs. */
  readonly nameOf?: (table: TableName) => string;
  /** The tables that there are, if some may be missing. */
  readonly present?: readonly TableName[];
  /** Only the rows of this site. */
  readonly site?: number | undefined;
}

/** Every row of every table as of one moment, read on a separate connection, which `open` makes. */
export function* dumpRows(
  open: () => Database,
  { nameOf = (table) => table, present, site }: DumpOptions = {},
): Generator<DumpedRow> {
  const database = open();
  try {
    database.run("begin");
    for (const table of tablesWith(site)) {
      if (present && !present.includes(table)) continue;
      const where = site === undefined ? "" : `where ${siteColumnOf(table)} = ${site}`;
      const text = `select ${columnsOf(table).join(", ")} from ${nameOf(table)} ${where}`;
      for (const row of database.query<Record<string, Cell>, []>(text).iterate()) yield { table, row };
    }
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}
