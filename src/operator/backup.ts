import { existsSync, statSync } from "node:fs";
import { createGzip } from "node:zlib";
import { messageOf } from "../lib/thrown.ts";
import type { DumpedRow, Engine, Head, SaveReplaced } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { systemSite } from "../model/system-site.ts";
import { removedEpoch } from "../store/removed-sites.ts";
import { readBackup, toBackupLines } from "./backup-format.ts";
import { requireFolder, writeFile } from "./output.ts";
import { isStandardInput } from "./standard-streams.ts";

/** Nobody but its owner may read a file that holds everything. */
const mode = 0o600;

/** Writes everything that is stored, as of one moment, to `file`; see writeFile. Returns the number of rows. */
export function backUp(engine: Engine, file: string, now: number): Promise<number> {
  return writeBackup(engine.dump(), file, now);
}

/**
 * Reads a whole backup, so that a bad one is refused before anything else is done. What can be read only once, such as a
 * pipe, is left to `restore`.
 * @throws Refusal `bad-request` when it is not complete
 */
export async function verifyBackup(file: string): Promise<void> {
  if (isStandardInput(file) || (existsSync(file) && !statSync(file).isFile())) return;
  for await (const _ of readBackup(file));
}

/** What a restore has done. */
export interface Restored {
  /** How many rows the backup has. */
  readonly rows: number;
  /** The files with what was there before; empty when nothing was. */
  readonly kept: readonly string[];
  /** How many changes made since the backup are discarded, of the sites whose history is that of the backup. */
  readonly discarded: number;
  /** How many sites have another history, so that nobody can say how many changes of them are discarded. */
  readonly otherHistories: number;
}

/**
 * Replaces everything that is stored by the backup in `file` (`-` for standard input), at once: whoever reads sees the one or
 * the other. What was there before goes to `keep`, up to the last write.
 * @throws Refusal `bad-request` when the backup is not complete; then nothing is changed
 */
export async function restore(engine: Engine, file: string, keep: string, now: number): Promise<Restored> {
  const kept: string[] = [];
  const heads = new Map<number, Head>();
  let count = 0;
  let isRestored = false;
  async function* rows(): AsyncGenerator<DumpedRow> {
    for await (const row of readBackup(file)) {
      count++;
      if (row.table === "sites") noteHead(heads, row);
      yield row;
    }
    isRestored = true;
  }
  if (!(await isEmpty(engine))) requireFolder(keep);
  const before = await engine.refill(rows(), async (replaced) => {
    const target = kept.length === 0 ? keep : `${keep}-${kept.length + 1}`;
    try {
      if (await writeUnlessEmpty(replaced, target, now)) kept.push(target);
    } catch (error) {
      throw previousNotSaved(error, isRestored);
    }
  });
  return { rows: count, kept, ...countDiscarded(before, heads) };
}

/** Whether nothing is stored. */
export async function isEmpty(engine: Engine): Promise<boolean> {
  for await (const _ of engine.dump()) return false;
  return true;
}

function noteHead(heads: Map<number, Head>, { row }: DumpedRow): void {
  heads.set(row.id as number, { revision: row.revision as number, epoch: row.epoch as string });
}

/** Compares where sites stood with where the backup has them. A site that it does not have was made later, or elsewhere. */
function countDiscarded(before: ReadonlyMap<number, Head>, backup: ReadonlyMap<number, Head>) {
  let [discarded, otherHistories] = [0, 0];
  const isSameDatabase = before.get(systemSite)?.epoch === backup.get(systemSite)?.epoch;
  for (const [site, { revision, epoch }] of before) {
    if (epoch === removedEpoch) continue;
    const then = backup.get(site) ?? { revision: 0, epoch: isSameDatabase ? epoch : "" };
    if (then.epoch === epoch) discarded += Math.max(0, revision - then.revision);
    else otherHistories++;
  }
  return { discarded, otherHistories };
}

/** Returns the number of rows. */
async function writeBackup(rows: Parameters<SaveReplaced>[0], file: string, now: number): Promise<number> {
  let count = 0;
  const lines = toBackupLines(rows, now, () => count++);
  await writeFile(file, lines, { through: createGzip({ level: 6 }), mode });
  return count;
}

/** Writes a backup unless there are no rows. Returns whether it did. */
async function writeUnlessEmpty(replaced: Parameters<SaveReplaced>[0], file: string, now: number): Promise<boolean> {
  const rows = await startOf(replaced);
  if (rows) await writeBackup(rows, file, now);
  return rows !== undefined;
}

/** @param isRestored whether this restore is done but for that; otherwise it goes back to one that was killed */
function previousNotSaved(cause: unknown, isRestored: boolean): Refusal {
  const what = isRestored
    ? "the backup was restored, but what was there before was not kept"
    : "nothing was restored, since what an earlier restore replaced cannot be kept";
  const detail = `${what}: ${messageOf(cause)}; it is still in the database, and the next \`restore\` keeps it`;
  return new Refusal("unavailable", detail, { cause });
}

/** The rows again, once the first is there; undefined when there is none. */
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
