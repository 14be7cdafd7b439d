import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Intent, Outcome } from "../../model/intent.ts";
import { isStopped } from "../batch.ts";
import { decodeOutcomes, encodeIntents } from "./messages.ts";
import type { WorkerCall } from "./worker.ts";
import type { WriterThread } from "./writer-thread.ts";

/** Batches that the writer thread has at once: the next one is there when it has done one, since other writers wait for all of them. */
const maxSent = 2;

/** See `Engine.commitTogether`. */
export function commitTogether(
  writer: WriterThread,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: (outcomes: readonly Outcome[]) => MaybePromise<void>,
): Promise<void> {
  return writer.uninterrupted(async (call) => {
    await call({ name: "beginBatches" });
    let isCommitted = false;
    try {
      isCommitted = await addAll(call, batches, onOutcomes);
    } finally {
      await call({ name: "endBatches", isCommitted });
    }
  });
}

/** Returns whether all batches were decided, and no refusal stopped them. */
async function addAll(
  call: (request: WorkerCall) => Promise<string>,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: (outcomes: readonly Outcome[]) => MaybePromise<void>,
): Promise<boolean> {
  const iterator = batches[Symbol.iterator]();
  const sent: { readonly intents: readonly Intent[]; readonly result: Promise<string> }[] = [];
  for (let next = iterator.next(); ; ) {
    for (; !next.done && sent.length < maxSent; next = iterator.next()) {
      const result = call({ name: "addBatch", intents: encodeIntents(next.value) });
      // Its failure counts when its turn comes.
      result.catch(() => {});
      sent.push({ intents: next.value, result });
    }
    const first = sent.shift();
    if (!first) return true;
    const outcomes = decodeOutcomes(await first.result, first.intents);
    await onOutcomes(outcomes);
    if (isStopped(outcomes, first.intents)) return false;
  }
}
