// Whether anybody committed to a SQLite database, for a third of what `pragma data_version` costs.
//
// In WAL mode every commit, by any process, ends with rewriting the header of the wal-index: the first 48 bytes of the
// file `-shm` (https://sqlite.org/walformat.html, section 2.1), which hold a counter of transactions, the last frame and
// checksums. The first of its two copies is written last, before the commit returns. So as long as these bytes are the
// same, nothing that was acknowledged is missing; bytes that are torn differ, and then SQLite itself is asked.

import type { Database } from "bun:sqlite";
import { fstatSync, openSync, readSync, statSync } from "node:fs";

const headerLength = 48;

/** Says whether certainly nobody has committed since it was last called. The first answer is no. */
export type CommitWatch = () => boolean;

/** Watches the database at `path`, which `database` has open: the file `-shm` is there as long as a connection is. */
export function watchCommits(database: Database, path: string): CommitWatch {
  return process.platform === "linux" ? watchHeader(`${path}-shm`) : watchDataVersion(database);
}

function watchHeader(path: string): CommitWatch {
  const file = openForever(path);
  let last = Buffer.alloc(headerLength);
  let next = Buffer.alloc(headerLength);
  let known = false;
  return () => {
    const length = readSync(file, next, 0, headerLength, 0);
    const same = known && length === headerLength && next.equals(last);
    known = length === headerLength;
    [last, next] = [next, last];
    return same;
  };
}

function watchDataVersion(database: Database): CommitWatch {
  const query = database.query<{ data_version: number }, []>("pragma data_version");
  let last: number | undefined;
  return () => {
    const version = query.get()?.data_version;
    const same = version === last;
    last = version;
    return same;
  };
}

const opened = new Map<string, number>();

/**
 * Opens a file once per process and never closes it: to close any descriptor of it would drop the locks that SQLite has
 * on it in this process (POSIX.1 fcntl, "all locks associated with a file for a given process shall be removed").
 */
function openForever(path: string): number {
  const known = opened.get(path);
  if (known !== undefined && fstatSync(known).ino === statSync(path).ino) return known;
  const file = openSync(path, "r");
  opened.set(path, file);
  return file;
}
