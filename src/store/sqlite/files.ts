// Checks that the paths of a database still lead to the files that SQLite has open. Otherwise acknowledged writes could be lost: a removed file
// exists as long as a process has it open, so SQLite would continue to commit into it.
//
// A file is identified by its device and inode number. While SQLite has the file open, no other file gets its inode number. The paths are checked
// without opening the files, because closing a descriptor would drop SQLite's locks on the file (POSIX.1 fcntl).
//
// The writer checks the files before and after each commit (writer.ts). The second check decides, because a file can be removed between the first
// check and the commit: a write is acknowledged only if the files were still in place after its commit. For reads, a check is valid for a second.

import { randomBytes } from "node:crypto";
import { type BigIntStats, closeSync, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";

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
  return statSync(`${realpathSync(path)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
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
export function createFileMonitor(files: readonly KnownFile[]): () => void {
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

function unavailableError(detail: string, cause?: unknown): ProblemError {
  return new ProblemError("unavailable", detail, { retryAfterSeconds: 1, cause });
}

// Finds out whether a full disk has caused an error of SQLite. If SQLite cannot create a file, it says only "disk I/O error".

/** Minimum bytes of an index (`-shm`). SQLite creates the index when the first process opens the database. */
const minIndexBytes = 32 * 1024;

/**
 * Finds out whether the disk of the database at `path` is full. Returns a sentence that names the file that could not be created, if any; undefined
 * if the error has another cause.
 * @param error an error of SQLite
 */
export function describeDiskError(path: string, error: unknown): string | undefined {
  const { code = "" } = error as { code?: string };
  if (!/^SQLITE_(IOERR|FULL|CANTOPEN)/.test(code)) return undefined;
  const target = targetOf(path);
  if (!isDiskFull(dirname(target))) return undefined;
  const unmade = [target, `${target}-wal`, `${target}-shm`].find((file) => !isMade(file));
  return unmade ? `the disk is full, and ${unmade} could not be made` : "the disk is full";
}

function isMade(file: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  return size !== undefined && (!file.endsWith("-shm") || size >= minIndexBytes);
}

/** Tries to write as many bytes as SQLite needs. The free space that the file system reports does not consider quotas and reserves. */
function isDiskFull(folder: string): boolean {
  const trial = `${folder}/storefront-${process.pid}-${randomBytes(4).toString("hex")}.trial`;
  try {
    const descriptor = openSync(trial, "wx", 0o600);
    try {
      const bytes = randomBytes(minIndexBytes);
      // If the disk becomes full during the write, fewer bytes are written.
      return writeSync(descriptor, bytes) < bytes.length;
    } finally {
      closeSync(descriptor);
      rmSync(trial, { force: true });
    }
  } catch (error) {
    return ["ENOSPC", "EDQUOT"].includes(String((error as NodeJS.ErrnoException).code));
  }
}

/** Returns the target if `path` is a symbolic link, because log and index are in its folder; otherwise the path itself. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
