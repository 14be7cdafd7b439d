// The writer thread. It waits for the disk, so that the thread of the reads does not. It executes one message after the other, each to its end.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import {
  decodeIntents,
  encodeOutcomes,
  type WriterCall,
  type WriterFailure,
  type WriterResult,
  type WriterStart,
} from "./messages.ts";
import { Writer } from "./writer.ts";

declare const self: Worker;

let start: WriterStart | undefined;
let writer: Writer | undefined;

self.onmessage = ({ data }: MessageEvent<WriterStart | WriterCall>) => {
  if ("path" in data) start = data;
  else self.postMessage(resultOf(data));
};

function resultOf(call: WriterCall): WriterResult {
  try {
    if (call.name === "close" && !writer) return { value: undefined };
    writer ??= new Writer(start as WriterStart);
    return { value: execute(writer, call) };
  } catch (error) {
    return { failure: toFailure(error) };
  }
}

function toFailure(error: unknown): WriterFailure {
  if (error instanceof ProblemError) return { problem: error.code, code: undefined, message: error.message };
  const { code } = error as { code?: unknown };
  return { problem: undefined, code: typeof code === "string" ? code : undefined, message: errorMessage(error) };
}

/** Executes a call. Returns the encoded outcomes of a batch, whether more responses may have to be deleted, or the results of operations. */
function execute(target: Writer, call: WriterCall): unknown {
  if (call.name === "commit") {
    const intents = decodeIntents(call.intents);
    return encodeOutcomes(target.commit(intents, call.atomic), intents);
  }
  if (call.name === "addBatch") {
    const intents = decodeIntents(call.intents);
    return encodeOutcomes(target.addBatch(intents), intents);
  }
  if (call.name === "operations") return target.execute(call.calls);
  if (call.name === "deleteExpiredResponses") return target.deleteExpiredResponses(call.before, call.most);
  if (call.name === "probeWrite") target.probeWrite();
  else if (call.name === "beginBatches") target.beginBatches();
  else if (call.name === "endBatches") target.endBatches(call.shouldCommit);
  else if (call.name === "close") target.close();
  return undefined;
}
