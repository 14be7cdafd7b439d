import type { Database } from "bun:sqlite";
import { inTransaction, tableNamesIn } from "./database.ts";

/** Most rows that one transaction deletes: writers wait for no longer than that takes, 10 to 25 ms. */
const mostRows = 2000;

/** Milliseconds between transactions, in which others take the lock. They look for it about as often as that. */
const turnOfOthers = 10;

/** Lets others write before the next portion. */
export function giveWay(): Promise<void> {
  return Bun.sleep(turnOfOthers);
}

/** Deletes rows of a table, those of one site if it is named. Returns how many, at most as many as writers can wait for. */
export function deletePortion(database: Database, table: string, site?: number): number {
  const key = keyOf(database, table).join(", ");
  const where = site === undefined ? "" : "where site_id = ?";
  const text = `delete from ${table} where (${key}) in (select ${key} from ${table} ${where} limit ${mostRows})`;
  return database.query(text).run(...(site === undefined ? [] : [site])).changes;
}

/** Removes a table if it is there, its rows first: to drop a large one at once takes as long as to read it. */
export async function dropInPortions(database: Database, table: string): Promise<void> {
  const deleteSome = () => (tableNamesIn(database).includes(table) ? deletePortion(database, table) : 0);
  while (inTransaction(database, deleteSome) > 0) await giveWay();
  database.run(`drop table if exists ${table}`);
}

function keyOf(database: Database, table: string): string[] {
  const columns = database.query(`select name from pragma_table_info('${table}') where pk > 0 order by pk`).values();
  return columns.map(([name]) => name as string);
}
