// The writer thread. It waits for the disk so that the reading thread doesn't have to. It handles one message at a time, each to its end.

import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import {
  type CallName,
  decodeIntents,
  encodeOutcomes,
  type WriterCall,
  type WriterCalls,
  type WriterFailure,
  type WriterResult,
  type WriterStart,
} from "./messages.ts";
import { Writer } from "./writer.ts";

declare const self: Worker;

const calls: {
  readonly [Name in CallName]: (
    target: Writer,
    ...args: Parameters<WriterCalls[Name]>
  ) => ReturnType<WriterCalls[Name]>;
} = {
  open: () => undefined,
  commit: (target, text, atomic) => decideEncoded(text, (intents) => target.commit(intents, atomic)),
  beginBatches: (target, options) => target.beginBatches(options),
  addBatch: (target, text) => decideEncoded(text, (intents) => target.addBatch(intents)),
  endBatches: (target, shouldCommit) => target.endBatches(shouldCommit),
  probeWrite: (target) => target.probeWrite(),
  deleteExpiredResponses: (target, before, most) => target.deleteExpiredResponses(before, most),
  operations: (target, operations) => target.execute(operations),
  close: (target) => target.close(),
};

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

function execute<Name extends CallName>(target: Writer, { name, args }: WriterCall<Name>): unknown {
  return calls[name](target, ...args);
}

function decideEncoded(text: string, work: (intents: readonly Intent[]) => readonly Outcome[]): string {
  const intents = decodeIntents(text);
  return encodeOutcomes(work(intents), intents);
}
