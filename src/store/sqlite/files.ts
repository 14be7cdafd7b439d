// Whether the files that SQLite has open are still those at their paths.
//
// A removed file exists as long as a process has it open, so SQLite would continue to commit into it. Closing a descriptor
// of these files would drop SQLite's locks on them (POSIX.1 fcntl), so they are checked by path only. While SQLite has them
// open, no other file gets their inode numbers.

import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { messageOf } from "../../lib/thrown.ts";
import { Refusal } from "../../model/errors.ts";

/** Milliseconds for which a check is valid for reads. */
const lookInterval = 1000;

/** A file as it was when the database was opened; plain data, to be sent to another thread. */
export interface KnownFile {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** The database, its log (`-wal`) and its index (`-shm`), all of which a connection in WAL mode has open. */
export function knownFiles(path: string): KnownFile[] {
  // The two others are beside the target of a symbolic link.
  const target = realpathSync(path);
  return [path, `${target}-wal`, `${target}-shm`].map((file) => {
    const { dev, ino } = statSync(file, { bigint: true });
    return { path: file, device: dev, inode: ino };
  });
}

/** Bytes of the log of the database at `path`; 0 when there is none. */
export function logSize(path: string): number {
  return statSync(`${realpathSync(path)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** @throws Refusal `unavailable` if one of `files` was removed or replaced */
export function requireSameFiles(files: readonly KnownFile[]): void {
  for (const { path, device, inode } of files) {
    const found = lookAt(path);
    if (found?.dev === device && found.ino === inode) continue;
    throw unavailable(`${path} was ${found ? "replaced" : "removed"} while it was in use; restart what uses it`);
  }
}

/** The same for reads: checks at most once a second, and at every call while something is wrong. */
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
