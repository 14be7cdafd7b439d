import type { Database } from "bun:sqlite";
import { runInTransaction, tableNamesIn } from "./database.ts";

/** Maximum rows that one transaction deletes. It takes 10 to 25 ms. During this time, other writers wait. */
const maxRows = 2000;

/** Milliseconds between two transactions, in which other processes can get the write lock. They retry about as often. */
const pauseForOthersMs = 10;

/** Waits, so that other processes can write before the next chunk. */
export function pauseForOtherWriters(): Promise<void> {
  return Bun.sleep(pauseForOthersMs);
}

/** Deletes at most `maxRows` rows of a table, or of one site in it. Returns the number of deleted rows. */
export function deleteChunk(database: Database, table: string, site?: number): number {
  const key = keyOf(database, table).join(", ");
  const where = site === undefined ? "" : "where site_id = ?";
  const text = `delete from ${table} where (${key}) in (select ${key} from ${table} ${where} limit ${maxRows})`;
  return database.query(text).run(...(site === undefined ? [] : [site])).changes;
}

/** Drops a table if it exists. Deletes its rows in chunks first, because dropping a large table takes as long as reading it. */
export async function dropInChunks(database: Database, table: string): Promise<void> {
  const deleteSome = () => (tableNamesIn(database).includes(table) ? deleteChunk(database, table) : 0);
  while (runInTransaction(database, deleteSome) > 0) await pauseForOtherWriters();
  database.run(`drop table if exists ${table}`);
}

function keyOf(database: Database, table: string): string[] {
  const columns = database.query(`select name from pragma_table_info('${table}') where pk > 0 order by pk`).values();
  return columns.map(([name]) => name as string);
}
