// Flushes to the disk what SQLite does not flush: the names of new folders, and a log that a killed process left.

import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemErrorCode } from "../../lib/errors-for-log.ts";
import { flushToDiskSync } from "../../lib/flush.ts";

/** Bytes that `rewriteFile` reads at once. */
const chunkBytes = 1024 * 1024;

/** Codes of errors that say that a folder cannot be flushed by this user, or on this file system. */
const cannotFlush = ["EACCES", "EPERM", "EINVAL", "ENOTSUP", "ENOSYS", "EROFS", "EISDIR"];

/**
 * Flushes a folder and all folders above it, so that a power loss does not remove new ones with everything in them. SQLite flushes only the folder of
 * its files. Omits folders that this user may not read: this process has not created them.
 * @throws Error of the file system if a flush fails
 */
export function flushFolders(folder: string): void {
  for (let path = resolve(folder); ; path = dirname(path)) {
    flushFolder(path);
    if (path === dirname(path)) return;
  }
}

/** Flushes a folder, unless this user or this file system cannot. */
function flushFolder(path: string): void {
  try {
    flushToDiskSync(path);
  } catch (error) {
    if (!cannotFlush.includes(String(systemErrorCode(error)))) throw error;
  }
}

/** Writes the bytes of a file again, and flushes the file. Its content is the same at all times. @throws Error of the file system */
export function rewriteFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    const bytes = new Uint8Array(chunkBytes);
    for (let position = 0; ; ) {
      const length = readSync(file, bytes, 0, chunkBytes, position);
      if (length === 0) break;
      for (let done = 0; done < length; ) done += writeSync(file, bytes, done, length - done, position + done);
      position += length;
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
