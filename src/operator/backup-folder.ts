// A folder of backups: each has the time at which it was made in its name, and the oldest are deleted.

import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "../model/errors.ts";

/** The names that `nameBackup` makes. Files of other names are left alone. */
const made = /^storefront-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/;

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** The file in `folder` for a backup made at `now`. @param now milliseconds since 1970 */
export function nameBackup(folder: string, now: number): string {
  return join(folder, `storefront-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}Z.backup`);
}

/** The latest backup in `folder`. @throws Refusal `not-found` when there is none */
export function latestBackup(folder: string): string {
  const latest = backupsIn(folder).at(-1);
  if (latest) return latest;
  throw new Refusal("not-found", `there is no backup in ${folder}, that is no file storefront-<time>.backup`);
}

/**
 * Deletes the oldest backups in the folder, so that `keep` are left. Never the one that was just made, which is not the latest by its name if an
 * earlier one was made under a clock that was ahead. Returns those that it deleted.
 * @param file the backup that was just made
 */
export function deleteOldBackups(folder: string, keep: number, file: string): string[] {
  const others = backupsIn(folder).filter((path) => path !== file);
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const path of old) rmSync(path);
  return old;
}

/** The backups in the folder that `nameBackup` named, the oldest first. */
function backupsIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => made.test(name));
  return names.sort().map((name) => join(folder, name));
}
