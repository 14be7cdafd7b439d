// Copies the records of a live site to the reserved site that becomes its sandbox.
//
// Records are copied as creates, with their IDs, through `Engine.commit`. So the journal of the sandbox begins with one entry per record, and counts
// and last IDs follow from them. Deleted records and the journal of the live site are not copied.

import { createYielder } from "../../lib/yielding.ts";
import { type Intent, operatorActor } from "../../model/change.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { isLiveEpoch } from "../../store/database/site-state.ts";

/** Maximum records of a batch, as in an import. They limit how long other writers wait. */
const maxRecords = 500;
/** Approximate maximum characters of a batch, because several copies of it are in memory. */
const maxLength = 4 << 20;

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
type CopyEnd = "done" | "stopped" | "removed";

/**
 * Copies the records as of one moment. Other writers wait no longer than for a batch of an import. If the copy ends early, the reserved site has some
 * of the records.
 */
export async function copyRecords(
  engine: Engine,
  options: CopyOptions,
): Promise<{ readonly end: CopyEnd; readonly count: number }> {
  const { signal, onRecords } = options;
  let count = 0;
  for await (const batch of readBatches(engine, options)) {
    if (signal?.aborted) return { end: "stopped", count };
    if (batch === "removed") return { end: "removed", count };
    const outcomes = await engine.commit(batch, true);
    if (outcomes.some(({ kind }) => kind === "rejected")) return { end: "removed", count };
    count += batch.length;
    onRecords?.(count);
  }
  return { end: signal?.aborted ? "stopped" : "done", count };
}

/** Reads the records in one transaction, as batches of intents. */
async function* readBatches(
  engine: Pick<Engine, "dump">,
  options: CopyOptions,
): AsyncGenerator<readonly Intent[] | "removed"> {
  const yieldIfDue = createYielder();
  let batch: Intent[] = [];
  let length = 0;
  for await (const { table, row } of engine.dump(options.from)) {
    await yieldIfDue();
    if (table === "sites") {
      if (isLiveEpoch(String(row.epoch))) continue;
      return yield "removed";
    }
    // The next table is the journal, which is not copied.
    if (table !== "records") break;
    const intent = toIntent(row, options);
    if (!intent) continue;
    batch.push(intent);
    length += intent.valuesJson.length;
    if (batch.length < maxRecords && length < maxLength) continue;
    yield batch;
    [batch, length] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** Returns the intent to create the record in the reserved site; undefined for a deleted record. */
function toIntent({ resource, id, body }: DumpedRow["row"], { to, epoch, now }: CopyOptions): Intent | undefined {
  if (body === null) return undefined;
  // The stored JSON is copied, so that members of a newer program version stay.
  const { ID: _, ...values } = JSON.parse(String(body));
  return {
    site: to,
    resource: String(resource),
    operation: "create",
    id: Number(id),
    valuesJson: JSON.stringify(values),
    ifEpoch: epoch,
    actor: operatorActor,
    at: now(),
  };
}
