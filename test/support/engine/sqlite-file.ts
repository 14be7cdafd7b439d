// Opens a database file beside the program, to look into it or to lock it.

import { Database } from "bun:sqlite";

/** How long to wait for another process. It runs on the same busy machine. */
const busyTimeoutMs = 20_000;

/**
 * Opens a database file that other processes may be using, and waits for their locks. SQLite itself would fail at once, and even a reader would: a process
 * locks the file for a moment when it's the first to open it or the last to close it.
 * @param database the file's path, or its address
 */
export function openSqliteFile(database: string): Database {
  const opened = new Database(database.replace(/^sqlite:/, ""));
  opened.run(`pragma busy_timeout = ${busyTimeoutMs}`);
  return opened;
}
