// Whether the files that SQLite has open are still those at their paths.
//
// To remove a file leaves it to whoever has it open: SQLite would go on committing into nothing. Closing a descriptor of
// these files would drop SQLite's locks on them (POSIX.1 fcntl), so they are looked at by their paths only. As long as
// SQLite has them open, the system gives their inode numbers to no other file.

import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { messageOf } from "../../lib/thrown.ts";
import { Refusal } from "../../model/errors.ts";

/** Milliseconds for which a look counts when records are read. */
const lookInterval = 1000;

/** A file as it was when the database was opened; plain data, to be sent to another thread. */
export interface KnownFile {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** The database, its log (`-wal`) and its index (`-shm`), all of which a connection in WAL mode has open. */
export function knownFiles(path: string): KnownFile[] {
  // SQLite puts the two others beside the file that a symbolic link leads to.
  const target = realpathSync(path);
  return [path, `${target}-wal`, `${target}-shm`].map((file) => {
    const { dev, ino } = statSync(file, { bigint: true });
    return { path: file, device: dev, inode: ino };
  });
}

/** @throws Refusal `unavailable` when one of `files` was removed, or another file is in its place */
export function requireSameFiles(files: readonly KnownFile[]): void {
  for (const { path, device, inode } of files) {
    const found = lookAt(path);
    if (found?.dev === device && found.ino === inode) continue;
    throw unavailable(`${path} was ${found ? "replaced" : "removed"} while it was in use; restart what uses it`);
  }
}

/** The same for reads, which are many: looks at most once a second, and at every call while something is wrong. */
export function createFileWatch(files: readonly KnownFile[]): () => void {
  let due = 0;
  return () => {
    const now = performance.now();
    if (now < due) return;
    requireSameFiles(files);
    due = now + lookInterval;
  };
}

function lookAt(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw unavailable(`${path} cannot be looked at: ${messageOf(error)}`, error);
  }
}

function unavailable(detail: string, cause?: unknown): Refusal {
  return new Refusal("unavailable", detail, { retryAfter: 1, cause });
}
