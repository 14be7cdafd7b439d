import { Database } from "bun:sqlite";

/** Maximum KiB of a scratch database in memory; the rest is in a file. */
const cacheSize = 8192;

/**
 * Opens a temporary database for the working data of one task that would take too much memory. Data beyond a small cache is in an unnamed file in the
 * folder for temporary files. Nothing is durable.
 * @param tables SQL that creates the tables, in the schema `scratch`
 */
export function openScratch(tables: string): Database {
  const database = new Database(":memory:", { strict: true });
  database.run("attach database '' as scratch");
  for (const setting of ["journal_mode = off", "synchronous = off", `cache_size = -${cacheSize}`])
    database.run(`pragma scratch.${setting}`);
  database.run(tables);
  // This transaction is never committed. Without it, each statement would be a transaction of its own, which takes longer.
  database.run("begin");
  return database;
}
