// Whether a full disk is the cause of an error of SQLite: it says "disk I/O error" when it cannot make a file.

import { randomBytes } from "node:crypto";
import { closeSync, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

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
