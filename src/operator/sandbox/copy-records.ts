// Copies a live site's records to the reserved site that will become its sandbox.
//
// Copied records are ordinary creates with given IDs, so the sandbox's journal starts with one entry per record, and counts and last IDs come out
// right by themselves. Deleted records and the live site's journal aren't copied.
//
// One transaction first reads all records into a temporary file. If it stayed open while we write, SQLite would have to keep every commit of that time
// in its log, and a writer would wait at the end while they're all moved into the database.

import { createYielder } from "../../lib/yielding.ts";
import { type Intent, operatorActor } from "../../model/change.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { isUsableEpoch } from "../../store/database/site-state.ts";
import { type FileRange, SpoolFile } from "../files/spool-file.ts";
import { PendingBatch } from "../records/pending-batch.ts";

/** Rough limit for the characters in a batch, because compressing it blocks the event loop. */
const maxLength = 1 << 20;
/** A pause between batches, in which other processes can get SQLite's write lock. They retry about this often. */
const pauseMs = 10;

interface CopyOptions {
  /** ID of the live site. */
  readonly from: number;
  /** ID of the reserved site. */
  readonly to: number;
  /** The reserved site's epoch. If it changes, the site was removed or the database restored. */
  readonly epoch: string;
  readonly signal: AbortSignal | undefined;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Called with the number of records copied so far. */
  readonly onRecords: ((count: number) => void) | undefined;
}

interface CopyResult {
  /** `removed`: one of the two sites was removed, or the database restored. */
  readonly end: "done" | "stopped" | "removed";
  /** Records copied. */
  readonly count: number;
}

type CopiedRecord = Pick<Intent, "resource" | "id" | "valuesJson">;

/**
 * Copies a consistent snapshot of the records. Other writers don't wait any longer than for a batch of an import. Unless the copy is `done`, the reserved site
 * has only some of the records.
 * @throws ProblemError `unavailable` if the temporary file can't be written or read
 */
export async function copyRecords(engine: Engine, options: CopyOptions): Promise<CopyResult> {
  const spool = new SpoolFile();
  try {
    const batches = await spoolRecords(engine, options, spool);
    return typeof batches === "string"
      ? { end: batches, count: 0 }
      : await commitBatches(engine, options, spool, batches);
  } finally {
    spool.close();
  }
}

/** @returns where the batches are in the file, or why the copy ends */
async function spoolRecords(
  engine: Pick<Engine, "dump">,
  { from, signal }: CopyOptions,
  spool: SpoolFile,
): Promise<readonly FileRange[] | "stopped" | "removed"> {
  const ranges: FileRange[] = [];
  const pending = new PendingBatch<CopiedRecord>(maxLength);
  const yieldIfDue = createYielder();
  for await (const { table, row } of engine.dump(from)) {
    await yieldIfDue();
    if (table === "sites" && !isUsableEpoch(String(row.epoch))) return "removed";
    if (table === "sites") continue;
    // After the records comes the journal, which isn't copied.
    if (table !== "records") break;
    if (signal?.aborted) return "stopped";
    const record = toCopiedRecord(row);
    if (!record) continue;
    pending.add(record, record.valuesJson.length);
    if (pending.isFull) ranges.push(spool.add(pending.take()));
  }
  const last = pending.take();
  if (last.length > 0) ranges.push(spool.add(last));
  return ranges;
}

async function commitBatches(
  engine: Engine,
  { to, epoch, signal, now, onRecords }: CopyOptions,
  spool: SpoolFile,
  ranges: readonly FileRange[],
): Promise<CopyResult> {
  let count = 0;
  for (const range of ranges) {
    if (signal?.aborted) return { end: "stopped", count };
    const common = { site: to, operation: "create", ifEpoch: epoch, actor: operatorActor, at: now() } as const;
    const batch = spool.read<CopiedRecord[]>(range).map((record): Intent => ({ ...record, ...common }));
    const outcomes = await engine.commit(batch, { atomic: true });
    if (outcomes.some(({ kind }) => kind === "rejected")) return { end: "removed", count };
    count += batch.length;
    onRecords?.(count);
    await Bun.sleep(pauseMs);
  }
  return { end: signal?.aborted ? "stopped" : "done", count };
}

/** @returns undefined for a deleted record */
function toCopiedRecord({ resource, id, body }: DumpedRow["row"]): CopiedRecord | undefined {
  if (body === null) return undefined;
  // From the stored JSON, so that fields of a newer program version survive.
  const { ID: _, ...values } = JSON.parse(String(body));
  return { resource: String(resource), id: Number(id), valuesJson: JSON.stringify(values) };
}
