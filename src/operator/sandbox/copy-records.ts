// Copies the records of a live site to the reserved site that becomes its sandbox.
//
// Records are copied as creates, with their IDs, through `Engine.commit`. So the journal of the sandbox begins with one entry per record, and counts
// and last IDs follow from them. Deleted records and the journal of the live site are not copied.
//
// All records are read first, in one transaction, into a temporary file. Otherwise, this transaction would last as long as the copy: SQLite would keep
// all commits of that time in its log, and move them into the database at the end, while a writer waits.

import { createYielder } from "../../lib/yielding.ts";
import { type Intent, operatorActor } from "../../model/change.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { isUsableEpoch } from "../../store/database/site-state.ts";
import { type FileRange, SpoolFile } from "../files/spool-file.ts";
import { PendingBatch } from "../records/pending-batch.ts";

/** Approximate maximum characters of a batch, because compressing it blocks the event loop. */
const maxLength = 1 << 20;
/** Milliseconds between two batches. On SQLite, other processes get the write lock in this time: they retry about as often. */
const pauseMs = 10;

interface CopyOptions {
  /** ID of the live site. */
  readonly from: number;
  /** ID of the reserved site. */
  readonly to: number;
  /** The epoch of the reserved site. If it has another one, the site was removed, or the database restored. */
  readonly epoch: string;
  readonly signal: AbortSignal | undefined;
  /** Returns the present time in milliseconds since 1970. */
  readonly now: () => number;
  /** Gets the number of records that are copied so far. */
  readonly onRecords: ((count: number) => void) | undefined;
}

/** The end of a copy. `removed`: the live site or the reserved site was removed, or the database restored. */
interface CopyResult {
  readonly end: "done" | "stopped" | "removed";
  /** The number of copied records. */
  readonly count: number;
}

/** A record to copy. */
type CopiedRecord = Pick<Intent, "resource" | "id" | "valuesJson">;

/**
 * Copies the records as of one moment. Other writers wait no longer than for a batch of an import. If the copy ends early, the reserved site has some
 * of the records.
 * @throws ProblemError `unavailable` if the temporary file cannot be written or read
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

/** Reads the records in one transaction. Returns the ranges of their batches in the file, or why the copy ends. */
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
    // The next table is the journal, which is not copied.
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

/** Returns undefined for a deleted record. */
function toCopiedRecord({ resource, id, body }: DumpedRow["row"]): CopiedRecord | undefined {
  if (body === null) return undefined;
  // The stored JSON is copied, so that members of a newer program version stay.
  const { ID: _, ...values } = JSON.parse(String(body));
  return { resource: String(resource), id: Number(id), valuesJson: JSON.stringify(values) };
}
