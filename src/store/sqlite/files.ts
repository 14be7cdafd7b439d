// Whether the files that SQLite has open are still those at their paths.
//
// A removed file exists as long as a process has it open, so SQLite would continue to commit into it. Closing a descriptor
// of these files would drop SQLite's locks on them (POSIX.1 fcntl), so they are checked by path only. While SQLite has them
// open, no other file gets their inode numbers.

import { randomBytes } from "node:crypto";
import { type BigIntStats, closeSync, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../lib/errors-for-log.ts";
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

// Whether a full disk is the cause of an error of SQLite: it says "disk I/O error" when it cannot make a file.

/** Bytes of the smallest index (`-shm`): SQLite makes it when no process has the database open. */
const minIndexBytes = 32 * 1024;

/**
 * Says that the disk of the database at `path` is full, and which of its files could not be made.
 * @param error of SQLite
 * @returns undefined if the error has another cause
 */
export function diskFault(path: string, error: unknown): string | undefined {
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

/** Tries to write as much as SQLite needs. What the file system says of its free space leaves out quotas and reserves. */
function isDiskFull(folder: string): boolean {
  const trial = `${folder}/storefront-${process.pid}-${randomBytes(4).toString("hex")}.trial`;
  try {
    const descriptor = openSync(trial, "wx", 0o600);
    try {
      const bytes = randomBytes(minIndexBytes);
      // A disk that becomes full in the middle of a write has written less.
      return writeSync(descriptor, bytes) < bytes.length;
    } finally {
      closeSync(descriptor);
      rmSync(trial, { force: true });
    }
  } catch (error) {
    return ["ENOSPC", "EDQUOT"].includes(String((error as NodeJS.ErrnoException).code));
  }
}

/** The two other files are beside the target of a symbolic link. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
