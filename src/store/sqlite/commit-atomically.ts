// Commits several batches in one transaction of the writer thread (`Engine.commitAtomically`). All other writers wait for it. Two ways keep it short:
//
// (1) A run has at most some thousand intents. All of them are encoded first, and sent together with the begin and the end of the transaction. So the
//     transaction never waits for this thread.
// (2) An import has any number of batches. Two are in flight, so that the writer thread always has a next batch. The end is sent after the caller has
//     received all outcomes.
//
// An example of a run: 1,200 intents in three batches. This thread encodes them, and then sends five calls at once: `beginBatches`, three times `addBatch`,
// and `endBatches`. The writer thread executes them in order (`OpenTransaction` in writer.ts). If an intent of batch 2 is rejected, the outcomes of batch 2 end with
// this intent, batch 3 is skipped and has no outcomes, and `endBatches` rolls back. The result is `aborted`.

import { awaitLater } from "../../lib/concurrency.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { Intent } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, OnOutcomes } from "../../model/engine.ts";
import { isBatchAborted } from "../writes/batch.ts";
import { decodeOutcomes, encodeIntents, type SendCall } from "./messages.ts";
import type { WriterThread } from "./writer-thread.ts";

/** Maximum characters of a run that are encoded before its transaction begins. A longer run is sent as an import is. */
const maxLengthAhead = 16 << 20;

/** Maximum batches of a transaction of any size that were sent and have no result yet. */
const maxSent = 2;

interface EncodedBatch {
  readonly intents: readonly Intent[];
  readonly text: string;
}

/** A batch that was sent, and its encoded outcomes. */
interface SentBatch {
  readonly intents: readonly Intent[];
  readonly result: Promise<string>;
}

/** Implements `Engine.commitAtomically`. */
export async function commitAtomically(
  writer: WriterThread,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: OnOutcomes,
  options: AtomicCommitOptions = {},
): Promise<AtomicCommitResult> {
  const encoded = encodeEach(batches);
  if (!options.run) return writer.uninterrupted((call) => sendOneByOne(call, encoded, onOutcomes, options));
  const ahead: EncodedBatch[] = [];
  if (await encodeAhead(encoded, ahead)) return sendAtOnce(writer, ahead, onOutcomes, options);
  const all = concatenate(ahead, encoded);
  return writer.uninterrupted((call) => sendOneByOne(call, all, onOutcomes, options));
}

function* encodeEach(batches: Iterable<readonly Intent[]>): Generator<EncodedBatch> {
  for (const intents of batches) yield { intents, text: encodeIntents(intents) };
}

function* concatenate<T>(...parts: readonly Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part;
}

/** Encodes batches into `ahead`. Returns whether these are all. */
async function encodeAhead(encoded: Iterator<EncodedBatch>, ahead: EncodedBatch[]): Promise<boolean> {
  const yieldIfDue = createYielder();
  for (let length = 0; length <= maxLengthAhead; ) {
    const next = encoded.next();
    if (next.done) return true;
    ahead.push(next.value);
    length += next.value.text.length;
    await yieldIfDue();
  }
  return false;
}

/** Sends the whole transaction, and waits for its end. */
async function sendAtOnce(
  writer: WriterThread,
  batches: readonly EncodedBatch[],
  onOutcomes: OnOutcomes,
  options: AtomicCommitOptions,
): Promise<AtomicCommitResult> {
  // Nothing is awaited in between, so that other calls can be sent as soon as the end is sent.
  const { begun, sent, ended } = await writer.uninterrupted(async (call) => ({
    begun: awaitLater(call("beginBatches", options)),
    sent: batches.map(({ intents, text }): SentBatch => ({ intents, result: awaitLater(call("addBatch", text)) })),
    ended: awaitLater(call("endBatches", true)),
  }));
  await begun;
  const yieldIfDue = createYielder();
  for (const one of sent) {
    await yieldIfDue();
    const outcomes = decodeOutcomes(await one.result, one.intents);
    if (outcomes.length > 0) await onOutcomes(outcomes);
  }
  return ended;
}

/** Sends the batches one after the other, and the end last. Rolls back after an error. */
async function sendOneByOne(
  call: SendCall,
  batches: Iterator<EncodedBatch>,
  onOutcomes: OnOutcomes,
  options: AtomicCommitOptions,
): Promise<AtomicCommitResult> {
  await call("beginBatches", options);
  let isComplete = false;
  try {
    await sendBatches(call, batches, onOutcomes);
    isComplete = true;
  } finally {
    // After an error, this error is thrown, not the result.
    if (!isComplete) await call("endBatches", false);
  }
  return call("endBatches", true);
}

/** Sends all batches, until one is aborted. */
async function sendBatches(call: SendCall, batches: Iterator<EncodedBatch>, onOutcomes: OnOutcomes): Promise<void> {
  const sent: SentBatch[] = [];
  for (let next = batches.next(); ; ) {
    for (; !next.done && sent.length < maxSent; next = batches.next()) {
      const { intents, text } = next.value;
      sent.push({ intents, result: awaitLater(call("addBatch", text)) });
    }
    const first = sent.shift();
    if (!first) return;
    const outcomes = decodeOutcomes(await first.result, first.intents);
    // The thread has skipped the batch, because there is a response already.
    if (outcomes.length < 1 && first.intents.length > 0) return;
    await onOutcomes(outcomes);
    if (isBatchAborted(outcomes, first.intents)) return;
  }
}
