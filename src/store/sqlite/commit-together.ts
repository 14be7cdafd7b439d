import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Intent, Outcome } from "../../model/intent.ts";
import { decodeOutcomes, encodeIntents } from "./messages.ts";
import type { WriterThread } from "./writer-thread.ts";

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
      for (const intents of batches) {
        const outcomes = decodeOutcomes(await call({ name: "addBatch", intents: encodeIntents(intents) }), intents);
        await onOutcomes(outcomes);
        if (outcomes.at(-1)?.kind === "refused") return;
      }
      isCommitted = true;
    } finally {
      await call({ name: "endBatches", isCommitted });
    }
  });
}
