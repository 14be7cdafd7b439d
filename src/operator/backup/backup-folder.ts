// Manages a folder of backups, which are named after the time they were made.

import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ProblemError } from "../../model/errors.ts";

/** Matches what `backupPath` returns. Other files are never deleted. */
const backupNamePattern = /^storefront-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/;

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** @param now milliseconds since 1970 */
export function backupPath(folder: string, now: number): string {
  return join(folder, `storefront-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}Z.backup`);
}

/** @throws ProblemError `not-found` if the folder has no backup */
export function latestBackup(folder: string): string {
  const latest = backupsIn(folder).at(-1);
  if (latest) return latest;
  throw new ProblemError("not-found", `no backup in ${folder}: its name would have to be storefront-<time>.backup`);
}

/**
 * Deletes the oldest backups so that `keep` remain, and returns their paths. Never deletes `file`, even if its name isn't the latest, because an earlier
 * backup may have been made while the clock was ahead.
 * @param file the backup that was just made
 */
export function deleteOldBackups(folder: string, keep: number, file: string): string[] {
  const others = backupsIn(folder).filter((path) => path !== file);
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const path of old) rmSync(path);
  return old;
}

/** Oldest first. */
function backupsIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => backupNamePattern.test(name));
  const paths = names.sort().map((name) => join(folder, name));
  return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}
