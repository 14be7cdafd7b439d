// Checks that the paths of a database still lead to the files that SQLite has open. Otherwise acknowledged writes could be lost: a removed file
// exists as long as a process has it open, so SQLite would continue to commit into it.
//
// A file is identified by its device and inode number. While SQLite has the file open, no other file gets its inode number. The paths are checked
// without opening the files, because closing a descriptor would drop SQLite's locks on the file (POSIX.1 fcntl).
//
// The writer checks the files before and after each commit (writer.ts). The second check decides, because a file can be removed between the first
// check and the commit: a write is acknowledged only if the files were still in place after its commit. For reads, a check is valid for a second.

import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { unavailableError } from "../../model/errors.ts";

/** Milliseconds for which a successful check is valid for reads. */
const checkIntervalMs = 1000;

/** The identity of a file when the database was opened. Plain data, so that it can be sent to another thread. */
export interface KnownFile {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** Returns the identity of the database file, its log (`-wal`) and its index (`-shm`). A connection in WAL mode has all three open. */
export function knownFiles(path: string): KnownFile[] {
  // If `path` is a symbolic link, log and index are in the folder of its target.
  const target = realpathSync(path);
  return [path, `${target}-wal`, `${target}-shm`].map((file) => {
    const { dev, ino } = statSync(file, { bigint: true });
    return { path: file, device: dev, inode: ino };
  });
}

/** Returns the bytes of the log of the database at `path`; 0 without a log. */
export function logSize(path: string): number {
  return statSync(logPath(path), { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns the path of the log of the database at `path`. If `path` is a symbolic link, the log is in the folder of its target. */
export function logPath(path: string): string {
  return `${realpathSync(path)}-wal`;
}

/** @throws ProblemError `unavailable` if one of `files` was removed or replaced */
export function requireUnreplacedFiles(files: readonly KnownFile[]): void {
  for (const { path, device, inode } of files) {
    const found = readFileState(path);
    if (found?.dev === device && found.ino === inode) continue;
    throw unavailableError(`${path} was ${found ? "replaced" : "removed"} while it was in use; restart what uses it`);
  }
}

/** Returns a check for reads: it checks `files` at most once a second, but after a failure at every call. */
export function createFileCheck(files: readonly KnownFile[]): () => void {
  let due = 0;
  return () => {
    const now = performance.now();
    if (now < due) return;
    requireUnreplacedFiles(files);
    due = now + checkIntervalMs;
  };
}

function readFileState(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw unavailableError(`${path} cannot be checked: ${errorMessage(error)}`, error);
  }
}
