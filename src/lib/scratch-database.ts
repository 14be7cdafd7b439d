import { Database } from "bun:sqlite";

/** KiB of a scratch database that are in memory; the rest is in a file. */
const cacheSize = 8192;

/**
 * A database for what one task notes, and would take too much memory otherwise. What does not fit in a small cache is in a file without a name, in
 * the folder for temporary files. The tables are in the schema `scratch`. Nothing in it is durable.
 */
export function openScratch(tables: string): Database {
  const database = new Database(":memory:", { strict: true });
  database.run("attach database '' as scratch");
  for (const setting of ["journal_mode = off", "synchronous = off", `cache_size = -${cacheSize}`])
    database.run(`pragma scratch.${setting}`);
  database.run(tables);
  // It is never committed: each statement would otherwise be a transaction, which takes longer.
  database.run("begin");
  return database;
}
