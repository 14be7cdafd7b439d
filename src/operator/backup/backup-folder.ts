// Backups in a folder. The name of each contains the time of the backup. The oldest are deleted.

import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ProblemError } from "../../model/errors.ts";

/** The names of the files that `backupPath` returns. Files with other names are not deleted. */
const backupNamePattern = /^storefront-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/;

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** Returns the path in `folder` for a backup made at `now`. @param now milliseconds since 1970 */
export function backupPath(folder: string, now: number): string {
  return join(folder, `storefront-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}Z.backup`);
}

/** Returns the path of the latest backup in `folder`. @throws ProblemError `not-found` if the folder has no backup */
export function latestBackup(folder: string): string {
  const latest = backupsIn(folder).at(-1);
  if (latest) return latest;
  throw new ProblemError(
    "not-found",
    `there is no backup in ${folder}: no file has a name like storefront-<time>.backup`,
  );
}

/**
 * Deletes the oldest backups in the folder, so that `keep` remain, and returns their paths. Never deletes `file`, even if its name is not the latest:
 * an earlier backup has a later name if the clock was ahead when it was made.
 * @param file the backup that was just made
 */
export function deleteOldBackups(folder: string, keep: number, file: string): string[] {
  const others = backupsIn(folder).filter((path) => path !== file);
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const path of old) rmSync(path);
  return old;
}

/** Returns the backups in the folder, the oldest first. */
function backupsIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => backupNamePattern.test(name));
  const paths = names.sort().map((name) => join(folder, name));
  return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}
