// Commits several batches in one transaction of the writer thread (`Engine.commitAtomically`). All other writers wait for it, so it's kept short:
//
// (1) A run has at most some thousand intents. They're all encoded first, then sent together with the start and end of the transaction, so it never
// waits for this thread.
// (2) An import has any number of batches. Two are in flight, so the writer thread always has a next one. The end is sent once the caller has all
// outcomes.
//
// For example, a run of 1,200 intents in three batches is encoded and then sent as five calls at once: `beginBatches`, three times `addBatch`, and
// `endBatches`. The writer thread executes them in order (`OpenTransaction` in writer.ts). If an intent in batch 2 is rejected, it's the last outcome
// of batch 2, batch 3 is skipped and has no outcomes, and `endBatches` rolls back with the result `aborted`.

import { awaitLater } from "../../lib/concurrency.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { Intent } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, OnOutcomes } from "../../model/engine.ts";
import { isBatchAborted } from "../writes/batch.ts";
import { decodeOutcomes, encodeIntents, type SendCall } from "./messages.ts";
import type { WriterThread } from "./writer-thread.ts";

/** How many characters of a run are encoded before its transaction starts. A longer run is sent like an import. */
const maxLengthAhead = 16 << 20;

/** Maximum batches of an import that are in flight. */
const maxSent = 2;

interface EncodedBatch {
  readonly intents: readonly Intent[];
  readonly text: string;
}

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

/** Encodes batches into `ahead`. Returns whether that's all of them. */
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

/** Sends the whole transaction and waits for its end. */
async function sendAtOnce(
  writer: WriterThread,
  batches: readonly EncodedBatch[],
  onOutcomes: OnOutcomes,
  options: AtomicCommitOptions,
): Promise<AtomicCommitResult> {
  // Nothing is awaited in between, so other calls can be sent right after the end.
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

/** Sends the batches one by one, then the end. Rolls back after an error. */
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
    // Roll back, but throw the original error.
    if (!isComplete) await call("endBatches", false);
  }
  return call("endBatches", true);
}

/** Stops after a batch that was aborted. */
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
    // The thread skipped the batch because this request was answered before.
    if (outcomes.length < 1 && first.intents.length > 0) return;
    await onOutcomes(outcomes);
    if (isBatchAborted(outcomes, first.intents)) return;
  }
}
