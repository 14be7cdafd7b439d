// Writes, verifies, checks and restores backups of the whole database.

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
  /** Why the time of the backup couldn't be recorded for the metrics, if so. The backup is complete anyway. */
  readonly timeNotSavedReason?: string;
}

/** Writes a consistent snapshot of the whole database to `file` (see `writeFile`), and records the time in the database. */
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
 * Reads a whole backup, to reject a damaged one before doing anything else. Skips pipes, which can only be read once; `restore` verifies those.
 * @param onRow called for each row
 * @returns the number of rows, or undefined for a pipe
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
 * Checks a backup the way `Engine.findInconsistencies` checks a database.
 * @param onRow called for each row
 * @returns one message per inconsistency
 * @throws ProblemError `bad-request` if the backup is damaged or incomplete
 */
export function checkBackup(file: string, onRow: () => void): Promise<readonly string[]> {
  return findStreamedInconsistencies(readBackup("storefront", file), onRow);
}

export interface Restored {
  /** In the backup. */
  readonly rows: number;
  /** Files with the previous data, if there was any. */
  readonly kept: readonly string[];
  /** Changes made since the backup and now discarded, in sites that have the same epoch as in the backup. */
  readonly discarded: number;
  /** Sites with another epoch than in the backup, so that we can't count their discarded changes. */
  readonly unrelatedSites: number;
  /** Restrictions made after the backup: those that `stays`, or with `isAsOfBackup` those `revived`. */
  readonly stays: readonly Restriction[];
  readonly revived: readonly Restriction[];
  /** Whether there may be more restrictions than the database can know of. */
  readonly isUnknown: boolean;
  /** How far back the database knows them, if it made the backup itself or was copied from the one that did. */
  readonly knownSince?: string;
}

interface RestoreOptions {
  /** Whether to restore keys, operators, webhooks and sites as they were, even if they have been revoked or removed since. */
  readonly isAsOfBackup?: boolean | undefined;
}

/**
 * Atomically replaces the whole database with the backup in `file` (`-` for standard input). Saves the previous data, up to the last write, to `keep`.
 * What was restricted after the backup stays restricted (restrictions.ts).
 * @throws ProblemError `bad-request` if the backup is damaged or incomplete, in which case nothing changes
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
      if (!isDatabaseSpecific(row)) yield row;
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

/** Whether a row is about one particular database, so that it wouldn't be true in another. */
function isDatabaseSpecific({ table, row }: DumpedRow): boolean {
  return table === "restrictions" && (row.kind === copiedKind || row.kind === renewedKind);
}

/** Whether a database knows what was restricted after a backup. @param own its ID */
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

/** Restrictions it remembers don't count, because nothing replaces those. */
export async function isEmpty(engine: Engine): Promise<boolean> {
  for await (const { table } of engine.dump()) if (table !== "restrictions") return false;
  return true;
}

function collectHead(heads: Map<number, Head>, { row }: DumpedRow): void {
  heads.set(row.id as number, { revision: row.revision as number, epoch: row.epoch as string });
}

/** Compares each site's head with that in the backup. A site that isn't in the backup was created later, or in another database. */
function countDiscarded(before: ReadonlyMap<number, Head>, backup: ReadonlyMap<number, Head>) {
  let [discarded, unrelatedSites] = [0, 0];
  const isSameDatabase = before.get(systemSite)?.epoch === backup.get(systemSite)?.epoch;
  for (const [site, { revision, epoch }] of before) {
    // Sites without changes have nothing to discard.
    if (epoch === removedEpoch || revision === 0) continue;
    const then = backup.get(site) ?? { revision: 0, epoch: isSameDatabase ? epoch : "" };
    if (then.epoch === epoch) discarded += Math.max(0, revision - then.revision);
    else unrelatedSites++;
  }
  return { discarded, unrelatedSites };
}

/** @returns the number of rows */
async function writeBackup(rows: Parameters<SaveReplacedRows>[0], file: string, header: BackupHeader): Promise<number> {
  let count = 0;
  await writeBackupFile(
    "storefront",
    file,
    toBackupLines("storefront", rows, header, () => count++),
  );
  return count;
}

/** @returns whether there was anything to write */
async function writeUnlessEmpty(
  replaced: Parameters<SaveReplacedRows>[0],
  file: string,
  header: BackupHeader,
): Promise<boolean> {
  const rows = await peekRows(replaced);
  if (rows) await writeBackup(rows, file, header);
  return rows !== undefined;
}

/** @param isRestored whether this restore replaced the data and is otherwise complete; false if an earlier one did that and was killed */
function previousNotSavedError(cause: unknown, isRestored: boolean): ProblemError {
  const what = isRestored
    ? "the backup was restored, but the previous content couldn't be saved"
    : "nothing was restored, because content that an interrupted restore replaced couldn't be saved";
  const detail = `${what}: ${errorMessage(cause)}; it's still in the database, and the next \`restore\` will save it`;
  return new ProblemError("unavailable", detail, { cause });
}

/** Undefined if there are no rows. */
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
