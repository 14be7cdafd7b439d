import type { Database } from "bun:sqlite";
import { inTransaction, tableNamesIn } from "./database.ts";

/** Maximum rows that one transaction deletes. Writers wait for it, 10 to 25 ms. */
const maxRows = 2000;

/** Milliseconds between transactions, in which other processes can get the lock. They try about that often. */
const turnOfOthers = 10;

/** Waits, so that other processes can write before the next portion. */
export function giveWay(): Promise<void> {
  return Bun.sleep(turnOfOthers);
}

/** Deletes rows of a table, or only those of one site. Returns the number of deleted rows, at most `maxRows`. */
export function deletePortion(database: Database, table: string, site?: number): number {
  const key = keyOf(database, table).join(", ");
  const where = site === undefined ? "" : "where site_id = ?";
  const text = `delete from ${table} where (${key}) in (select ${key} from ${table} ${where} limit ${maxRows})`;
  return database.query(text).run(...(site === undefined ? [] : [site])).changes;
}

/** Drops a table if it exists, after its rows: dropping a large one at once takes as long as reading it. */
export async function dropInPortions(database: Database, table: string): Promise<void> {
  const deleteSome = () => (tableNamesIn(database).includes(table) ? deletePortion(database, table) : 0);
  while (inTransaction(database, deleteSome) > 0) await giveWay();
  database.run(`drop table if exists ${table}`);
}

function keyOf(database: Database, table: string): string[] {
  const columns = database.query(`select name from pragma_table_info('${table}') where pk > 0 order by pk`).values();
  return columns.map(([name]) => name as string);
}
