import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../lib/errors-for-log.ts";
import type { DumpedRow, Engine, Head, SaveReplaced } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { systemSite } from "../model/limits.ts";
import { Checker } from "../store/database/consistency-check.ts";
import { removedEpoch } from "../store/database/site-state.ts";
import { readBackup, toBackupLines, writeBackupFile } from "./backup-format.ts";
import { isStandardInput, requireFolder } from "./output.ts";
import { keepRestrictions, type Restriction, type Restrictions } from "./restrictions.ts";

interface BackedUp {
  readonly rows: number;
  /** Why the time of the backup could not be stored, for the metrics; undefined when it was. The backup is complete in either case. */
  readonly notNoted?: string;
}

/** Writes everything that is stored, as of one moment, to `file` (see writeFile), and notes in the database that it was done. */
export async function backUp(engine: Engine, file: string, now: number): Promise<BackedUp> {
  const rows = await writeBackup(engine.dump(), file, now);
  try {
    await engine.noteBackup(now);
    return { rows };
  } catch (error) {
    return { rows, notNoted: messageOf(error) };
  }
}

/**
 * Reads a whole backup, so that a damaged one is refused before anything else is done. Does nothing with a pipe, which can
 * be read only once: `restore` verifies it. Returns the number of its rows, undefined for a pipe.
 * @param onRow called for each row
 * @throws Refusal `bad-request` when it is damaged or incomplete
 */
export async function verifyBackup(file: string, onRow: () => void = () => {}): Promise<number | undefined> {
  if (isStandardInput(file) || (existsSync(file) && !statSync(file).isFile())) return undefined;
  let rows = 0;
  for await (const _ of readBackup("storefront", file)) {
    rows++;
    onRow();
  }
  return rows;
}

/**
 * Checks a backup as `Engine.check` does a database. Returns what is wrong, in sentences.
 * @param onRow called for each row
 * @throws Refusal `bad-request` when it is damaged or incomplete
 */
export async function checkBackup(file: string, onRow: () => void): Promise<readonly string[]> {
  using checker = new Checker();
  for await (const row of readBackup("storefront", file)) {
    checker.add(row);
    onRow();
  }
  return checker.end();
}

/** The result of a restore. */
export interface Restored {
  /** Rows of the backup. */
  readonly rows: number;
  /** The files with the previous content; empty when there was none. */
  readonly kept: readonly string[];
  /** Changes made since the backup that are discarded, in the sites with the same history as in the backup. */
  readonly discarded: number;
  /** Sites with another history than in the backup: their discarded changes cannot be counted. */
  readonly otherHistories: number;
  /** What was restricted since the backup and stays so, or with `isAsOfBackup` does not. */
  readonly stays: readonly Restriction[];
  readonly revived: readonly Restriction[];
  /** Whether the target knew nothing of what the backup has, so that neither list can have anything. */
  readonly isUnknown: boolean;
}

interface RestoreOptions {
  /** Whether keys, operators, webhooks and sites become as they were at the time of the backup, whatever was revoked or removed since. */
  readonly isAsOfBackup?: boolean | undefined;
}

/**
 * Replaces everything that is stored with the backup in `file` (`-` for standard input), atomically: readers see the
 * previous content or the new one. The previous content, up to the last write, is saved to the file `keep`. What was restricted since the
 * backup stays so (restrictions.ts).
 * @throws Refusal `bad-request` when the backup is damaged or incomplete; then nothing is changed
 */
export async function restore(
  engine: Engine,
  file: string,
  keep: string,
  now: number,
  { isAsOfBackup = false }: RestoreOptions = {},
): Promise<Restored> {
  const kept: string[] = [];
  let restrictions: Restrictions = { found: [], isUnknown: false };
  const heads = new Map<number, Head>();
  let count = 0;
  let isRestored = false;
  async function* rows(): AsyncGenerator<DumpedRow> {
    for await (const row of readBackup("storefront", file)) {
      count++;
      if (row.table === "sites") noteHead(heads, row);
      yield row;
    }
    isRestored = true;
  }
  if (!(await isEmpty(engine))) requireFolder(keep);
  const save: SaveReplaced = async (replaced) => {
    const target = kept.length === 0 ? keep : `${keep}-${kept.length + 1}`;
    try {
      if (await writeUnlessEmpty(replaced, target, now)) kept.push(target);
    } catch (error) {
      throw previousNotSaved(error, isRestored);
    }
  };
  const onFound = (found: Restrictions) => {
    restrictions = found;
  };
  const amend = keepRestrictions({ backupHead: (site) => heads.get(site), isAsOfBackup, now, onFound });
  const before = await engine.refill(rows(), save, amend);
  const { found, isUnknown } = restrictions;
  const [stays, revived] = isAsOfBackup ? [[], found] : [found, []];
  return { rows: count, kept, ...countDiscarded(before, heads), stays, revived, isUnknown };
}

/** Whether nothing is stored. */
export async function isEmpty(engine: Engine): Promise<boolean> {
  for await (const _ of engine.dump()) return false;
  return true;
}

function noteHead(heads: Map<number, Head>, { row }: DumpedRow): void {
  heads.set(row.id as number, { revision: row.revision as number, epoch: row.epoch as string });
}

/** Compares the heads of the sites with those in the backup. A site that it does not have was created later, or elsewhere. */
function countDiscarded(before: ReadonlyMap<number, Head>, backup: ReadonlyMap<number, Head>) {
  let [discarded, otherHistories] = [0, 0];
  const isSameDatabase = before.get(systemSite)?.epoch === backup.get(systemSite)?.epoch;
  for (const [site, { revision, epoch }] of before) {
    // A site has its epoch before its first change.
    if (epoch === removedEpoch || revision === 0) continue;
    const then = backup.get(site) ?? { revision: 0, epoch: isSameDatabase ? epoch : "" };
    if (then.epoch === epoch) discarded += Math.max(0, revision - then.revision);
    else otherHistories++;
  }
  return { discarded, otherHistories };
}

/** Returns the number of rows. */
async function writeBackup(rows: Parameters<SaveReplaced>[0], file: string, now: number): Promise<number> {
  let count = 0;
  await writeBackupFile(
    "storefront",
    file,
    toBackupLines("storefront", rows, now, () => count++),
  );
  return count;
}

/** Writes a backup, unless there are no rows. Returns whether it wrote one. */
async function writeUnlessEmpty(replaced: Parameters<SaveReplaced>[0], file: string, now: number): Promise<boolean> {
  const rows = await startOf(replaced);
  if (rows) await writeBackup(rows, file, now);
  return rows !== undefined;
}

/** @param isRestored whether the failed save belongs to this restore, which is otherwise complete, or to an earlier one that was killed */
function previousNotSaved(cause: unknown, isRestored: boolean): Refusal {
  const what = isRestored
    ? "the backup was restored, but the previous content could not be saved"
    : "nothing was restored, because the content that an earlier restore replaced could not be saved";
  const detail = `${what}: ${messageOf(cause)}; it is still in the database, and the next \`restore\` saves it`;
  return new Refusal("unavailable", detail, { cause });
}

/** The same rows, after waiting for the first; undefined when there are none. */
async function startOf(rows: Parameters<SaveReplaced>[0]): Promise<AsyncIterable<DumpedRow> | undefined> {
  const rest = (async function* () {
    yield* rows;
  })();
  const first = await rest.next();
  if (first.done) return undefined;
  return (async function* () {
    yield first.value;
    yield* rest;
  })();
}

// A folder of backups: each has the time at which it was made in its name, and the oldest are deleted.

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
