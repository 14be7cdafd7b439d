import type { Database } from "bun:sqlite";
import type { DumpedRow } from "../../model/dump.ts";
import { columnsOf, type TableName, tableNames } from "../tables.ts";
import { fromSqlite } from "./database.ts";

type Cell = string | number | null;

/**
 * Every row of every table as of one moment, read on a separate connection, which `open` makes.
 * @param nameOf the name of the table that has the rows of a table, if it differs
 */
export function* dumpRows(
  open: () => Database,
  nameOf: (table: TableName) => string = (table) => table,
): Generator<DumpedRow> {
  const database = open();
  try {
    database.run("begin");
    for (const table of tableNames) {
      const text = `select ${columnsOf(table).join(", ")} from ${nameOf(table)}`;
      for (const row of database.query<Record<string, Cell>, []>(text).iterate()) yield { table, row };
    }
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}
