import type { Database } from "bun:sqlite";
import type { DumpedRow } from "../../model/engine.ts";
import { randomText } from "../../model/key.ts";
import { type TableName, tables } from "../tables.ts";
import { fromSqlite, openDatabase } from "./database.ts";

type Cell = string | number | null;

/** Every row of every table as of one moment, read on a connection of its own, which `open` makes. */
export function* dumpRows(open: () => Database): Generator<DumpedRow> {
  const database = open();
  try {
    database.run("begin");
    for (const table of Object.keys(tables) as TableName[]) {
      const query = database.query<Record<string, Cell>, []>(`select ${tables[table].join(", ")} from ${table}`);
      for (const row of query.iterate()) yield { table, row };
    }
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}

/** Replaces the content of every table by `rows` in one transaction; every site starts a new epoch. */
export async function refillTables(
  path: string,
  rows: AsyncIterable<DumpedRow>,
  busyTimeout: number | undefined,
): Promise<void> {
  const database = openDatabase(path, busyTimeout);
  try {
    database.run("begin immediate");
    for (const table of Object.keys(tables)) database.run(`delete from ${table}`);
    for await (const { table, row } of rows) {
      const columns = tables[table as TableName];
      const cells = columns.map((column) => (column === "epoch" ? randomText(8) : (row[column] ?? null)));
      const marks = columns.map(() => "?").join(", ");
      database.query(`insert into ${table} (${columns.join(", ")}) values (${marks})`).run(...cells);
    }
    database.run("commit");
  } catch (error) {
    throw fromSqlite(error);
  } finally {
    database.close();
  }
}
