import { Database } from "bun:sqlite";

/** KiB kept in memory; the rest goes to a file. */
const cacheSize = 8192;

/**
 * Opens a temporary database for a task whose working data would take too much memory. Whatever exceeds a small cache goes to an unnamed temporary file.
 * Nothing is durable.
 * @param tables SQL that creates the tables, in the schema `scratch`
 */
export function openScratch(tables: string): Database {
  const database = new Database(":memory:", { strict: true });
  database.run("attach database '' as scratch");
  for (const setting of ["journal_mode = off", "synchronous = off", `cache_size = -${cacheSize}`])
    database.run(`pragma scratch.${setting}`);
  database.run(tables);
  // Never committed. Otherwise each statement would be its own transaction, which is slower.
  database.run("begin");
  return database;
}
