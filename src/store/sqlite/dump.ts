import type { Database } from "bun:sqlite";
import type { DumpedRow } from "../../model/engine.ts";
import { type DumpOptions, dumpedColumns, siteColumnOf, tablesWith } from "../database/tables.ts";
import { fromSqlite } from "./errors.ts";

type Cell = string | number | null;

/** Reads the rows of a dump (`tablesWith`) as of one moment, on a connection of its own. */
export function* dumpRows(
  open: () => Database,
  { nameOf = (table) => table, existing, site }: DumpOptions = {},
): Generator<DumpedRow> {
  const database = open();
  try {
    database.run("begin");
    for (const table of tablesWith(site)) {
      if (existing && !existing.includes(table)) continue;
      const where = site === undefined ? "" : `where ${siteColumnOf(table)} = ${site}`;
      const from = nameOf(table);
      const text = `select ${dumpedColumns(table, from)} from ${from} ${where}`;
      for (const row of database.query<Record<string, Cell>, []>(text).iterate()) yield { table, row };
    }
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}
