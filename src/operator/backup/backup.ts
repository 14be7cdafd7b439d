// Backups of the whole database: writes, verifies, checks and restores them.

import { existsSync, statSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Swap } from "../../model/amend.ts";
import type { DumpedRow, Engine, SaveReplacedRows } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { findStreamedInconsistencies } from "../../store/database/consistency-check.ts";
import { copiedKind, knownSince, renewedKind } from "../../store/database/restrictions.ts";
import { removedEpoch } from "../../store/database/site-state.ts";
import { requireFolder } from "../files/atomic-file.ts";
import { isStandardInput } from "../files/standard-streams.ts";
import { type BackupHeader, readBackup, toBackupLines, writeBackupFile } from "./backup-format.ts";
import { createRestoreAmend, type Restriction } from "./restrictions.ts";

interface BackedUp {
  readonly rows: number;
  /** Why the time of the backup could not be saved for the metrics; undefined if it was saved. The backup is complete in both cases. */
  readonly timeNotSavedReason?: string;
}

/** Writes the whole database, as of one moment, to `file` (see `writeFile`), and saves the time of the backup in the database. */
export async function backUp(engine: Engine, file: string, now: number): Promise<BackedUp> {
  const rows = await writeBackup(engine.dump(), file, { made: now, database: await engine.readDatabaseId() });
  try {
    await engine.saveBackupTime(now);
    return { rows };
  } catch (error) {
    return { rows, timeNotSavedReason: errorMessage(error) };
  }
}

/**
 * Reads a whole backup, so that a damaged one is rejected before anything else is done. Does nothing with a pipe, because a pipe can be read only
 * once; `restore` verifies it. Returns the number of rows, or undefined for a pipe.
 * @param onRow called for each row
 * @throws ProblemError `bad-request` if the backup is damaged or incomplete
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
 * Checks the records and journals in a backup as `Engine.findInconsistencies` checks a database. Returns one sentence per inconsistency.
 * @param onRow called for each row
 * @throws ProblemError `bad-request` if the backup is damaged or incomplete
 */
export function checkBackup(file: string, onRow: () => void): Promise<readonly string[]> {
  return findStreamedInconsistencies(readBackup("storefront", file), onRow);
}

/** The result of a restore. */
export interface Restored {
  /** Rows of the backup. */
  readonly rows: number;
  /** The files with the previous data; empty if there was none. */
  readonly kept: readonly string[];
  /** Changes since the backup that were discarded, of the sites with the same epoch as in the backup. */
  readonly discarded: number;
  /** Sites with another epoch than in the backup. Their discarded changes cannot be counted. */
  readonly unrelatedSites: number;
  /** Restrictions that were made after the backup: `stays` if the restore keeps them, `revived` if `isAsOfBackup` ends them. */
  readonly stays: readonly Restriction[];
  readonly revived: readonly Restriction[];
  /** Whether more may have been restricted after the backup than the database can know. */
  readonly isUnknown: boolean;
  /** Since when the database knows it, if it made the backup itself, or its data was copied from the database that did. */
  readonly knownSince?: string;
}

interface RestoreOptions {
  /** Whether keys, operators, webhooks and sites become as they were at the time of the backup, even if they were revoked or removed since. */
  readonly isAsOfBackup?: boolean | undefined;
}

/**
 * Replaces the whole database by the backup in `file` (`-` for standard input), atomically: readers see the previous data or the new data. Saves the
 * previous data, up to the last write, to the file `keep`. What was restricted after the backup stays so (restrictions.ts).
 * @throws ProblemError `bad-request` if the backup is damaged or incomplete; then nothing is changed
 */
export async function restore(
  engine: Engine,
  file: string,
  keep: string,
  now: number,
  { isAsOfBackup = false }: RestoreOptions = {},
): Promise<Restored> {
  const kept: string[] = [];
  const own = await engine.readDatabaseId();
  let header: BackupHeader = { made: Number.NaN, database: undefined };
  let restrictions: { readonly found: readonly Restriction[]; readonly knowledge: Knowledge } | undefined;
  const heads = new Map<number, Head>();
  let count = 0;
  let isRestored = false;
  async function* rows(): AsyncGenerator<DumpedRow> {
    for await (const row of readBackup("storefront", file, (read) => {
      header = read;
    })) {
      count++;
      if (row.table === "sites") collectHead(heads, row);
      if (!isOfDatabase(row)) yield row;
    }
    isRestored = true;
  }
  if (!(await isEmpty(engine))) requireFolder(keep);
  const save: SaveReplacedRows = async (replaced) => {
    const target = kept.length === 0 ? keep : `${keep}-${kept.length + 1}`;
    try {
      if (await writeUnlessEmpty(replaced, target, { made: now, database: own })) kept.push(target);
    } catch (error) {
      throw previousNotSavedError(error, isRestored);
    }
  };
  const onFound = (found: readonly Restriction[], swap: Swap) => {
    restrictions = { found, knowledge: knowledgeOf(swap, header, own, now) };
  };
  const before = await engine.replaceAllData(rows(), save, createRestoreAmend({ isAsOfBackup, now, onFound }));
  const { found = [], knowledge = { isUnknown: false } } = restrictions ?? {};
  const [stays, revived] = isAsOfBackup ? [[], found] : [found, []];
  return { rows: count, kept, ...countDiscarded(before, heads), stays, revived, ...knowledge };
}

type Knowledge = Pick<Restored, "isUnknown" | "knownSince">;

/** Whether a row says something about one database, so that it isn't true in another. */
function isOfDatabase({ table, row }: DumpedRow): boolean {
  return table === "restrictions" && (row.kind === copiedKind || row.kind === renewedKind);
}

/** Returns whether a database knows what was restricted after a backup. @param own the ID of the database */
function knowledgeOf(
  { restored, restrictions }: Swap,
  { made, database = "" }: BackupHeader,
  own: string,
  now: number,
): Knowledge {
  if (restored.records.length === 0) return { isUnknown: false };
  const timeOf = (wanted: string) =>
    restrictions.find(({ kind, name }) => kind === wanted && name === database)?.at ?? Number.NEGATIVE_INFINITY;
  if (database !== own && !(timeOf(copiedKind) >= made)) return { isUnknown: true };
  const since = Math.max(knownSince(restrictions, now), timeOf(renewedKind));
  return made >= since ? { isUnknown: false } : { isUnknown: true, knownSince: new Date(since).toISOString() };
}

/** Whether the database is empty. What it remembers of restrictions doesn't count, because nothing replaces that. */
export async function isEmpty(engine: Engine): Promise<boolean> {
  for await (const { table } of engine.dump()) if (table !== "restrictions") return false;
  return true;
}

function collectHead(heads: Map<number, Head>, { row }: DumpedRow): void {
  heads.set(row.id as number, { revision: row.revision as number, epoch: row.epoch as string });
}

/**
 * Counts the changes that are discarded, by comparing the present head of each site with its head in the backup. A site that the backup does not
 * contain was created later, or in another database.
 */
function countDiscarded(before: ReadonlyMap<number, Head>, backup: ReadonlyMap<number, Head>) {
  let [discarded, unrelatedSites] = [0, 0];
  const isSameDatabase = before.get(systemSite)?.epoch === backup.get(systemSite)?.epoch;
  for (const [site, { revision, epoch }] of before) {
    // A site can have an epoch before its first change. Without changes, nothing is discarded.
    if (epoch === removedEpoch || revision === 0) continue;
    const then = backup.get(site) ?? { revision: 0, epoch: isSameDatabase ? epoch : "" };
    if (then.epoch === epoch) discarded += Math.max(0, revision - then.revision);
    else unrelatedSites++;
  }
  return { discarded, unrelatedSites };
}

/** Writes a backup of `rows`. Returns their number. */
async function writeBackup(rows: Parameters<SaveReplacedRows>[0], file: string, header: BackupHeader): Promise<number> {
  let count = 0;
  await writeBackupFile(
    "storefront",
    file,
    toBackupLines("storefront", rows, header, () => count++),
  );
  return count;
}

/** Writes a backup, unless `rows` is empty. Returns whether it wrote one. */
async function writeUnlessEmpty(
  replaced: Parameters<SaveReplacedRows>[0],
  file: string,
  header: BackupHeader,
): Promise<boolean> {
  const rows = await peekRows(replaced);
  if (rows) await writeBackup(rows, file, header);
  return rows !== undefined;
}

/**
 * Creates the error when the previous data could not be saved.
 * @param isRestored whether this restore replaced the data, and is otherwise complete; false if an earlier restore that was killed replaced it
 */
function previousNotSavedError(cause: unknown, isRestored: boolean): ProblemError {
  const what = isRestored
    ? "the backup was restored, but the previous content could not be saved"
    : "nothing was restored, because the content that an earlier restore replaced could not be saved";
  const detail = `${what}: ${errorMessage(cause)}; it is still in the database, and the next \`restore\` saves it`;
  return new ProblemError("unavailable", detail, { cause });
}

/** Waits for the first row, and returns the same rows; undefined if `rows` is empty. */
async function peekRows(rows: Parameters<SaveReplacedRows>[0]): Promise<AsyncIterable<DumpedRow> | undefined> {
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
