// The messages between this thread and the writer thread.
//
// The intents or outcomes of a batch are one string. The first line is a JSON list of them, without their records. Each further line is the JSON of one
// record; JSON of a record has no line breaks. Structured cloning of the objects would take twice the time.

import { copyText } from "../../lib/bytes.ts";
import type { Intent, Operation, Outcome, RecordAfterWrite, RejectedOutcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult } from "../../model/engine.ts";
import type { ErrorCode } from "../../model/errors.ts";
import { withId } from "../../model/record.ts";
import type { OperationName } from "../database/operations.ts";
import type { KnownFile } from "./files.ts";

/** The first message to the thread. */
export interface WriterStart {
  readonly path: string;
  /** The files that the read side has open. */
  readonly files: readonly KnownFile[];
  readonly busyTimeoutMs: number | undefined;
}

/** The calls of the writer thread, with their arguments and results. Intents and outcomes are encoded. */
export interface WriterCalls {
  /** Only opens the database. */
  open(): void;
  commit(intents: string, atomic: boolean): string;
  beginBatches(options: AtomicCommitOptions): void;
  addBatch(intents: string): string;
  endBatches(shouldCommit: boolean): AtomicCommitResult;
  probeWrite(): void;
  /** Returns whether more responses may have to be deleted. */
  deleteExpiredResponses(before: number, most: number): boolean;
  /** Executes operations in one transaction. Returns their results. */
  operations(calls: readonly OperationCall[]): readonly unknown[];
  close(): void;
}

export type CallName = keyof WriterCalls;

/** Any later message to the thread: a call. */
export interface WriterCall<Name extends CallName = CallName> {
  readonly name: Name;
  readonly args: Parameters<WriterCalls[Name]>;
}

/** Sends a call to the thread, and returns its result. */
export type SendCall = <Name extends CallName>(
  name: Name,
  ...args: Parameters<WriterCalls[Name]>
) => Promise<ReturnType<WriterCalls[Name]>>;

/** The result of a call. A failure is plain data, because an error loses its class when it is sent to another thread. */
export type WriterResult = { readonly value: unknown } | { readonly failure: WriterFailure };

export interface WriterFailure {
  /** The code of a ProblemError; undefined for any other error. */
  readonly problem: ErrorCode | undefined;
  /** The code of an error of SQLite. */
  readonly code: string | undefined;
  readonly message: string;
}

/** A call of an operation. */
export interface OperationCall {
  readonly name: OperationName;
  /** Plain data. */
  readonly args: readonly unknown[];
  /** The time of the call, in milliseconds since 1970. */
  readonly now: number;
}

/** An intent without its JSON of the values, which has its own line. */
type IntentMeta = Omit<Intent, "valuesJson"> & { readonly valuesJson?: undefined };

/** An outcome without its record JSON, which has its own line, empty for a new record. The change is left out, because it follows from the intent. */
type OutcomeMeta = RejectedOutcome | (Omit<RecordAfterWrite, "body"> & { kind: "done" | "unchanged" | "replayed" });

export function encodeIntents(intents: readonly Intent[]): string {
  let texts = "";
  // JSON.stringify omits undefined members. Overwriting this member takes less time than copying all others.
  const metas = intents.map((intent) => {
    texts += `\n${intent.valuesJson}`;
    return { ...intent, valuesJson: undefined } satisfies IntentMeta;
  });
  return JSON.stringify(metas) + texts;
}

export function decodeIntents(message: string): Intent[] {
  const [metas = "", ...texts] = message.split("\n");
  return (JSON.parse(metas) as IntentMeta[]).map(
    (meta, index): Intent => ({ ...meta, valuesJson: texts[index] as string }),
  );
}

/** @param intents the intents of these outcomes; the receiving thread has them too */
export function encodeOutcomes(outcomes: readonly Outcome[], intents: readonly Intent[]): string {
  let bodies = "";
  const metas = outcomes.map((outcome, index): OutcomeMeta => {
    if (outcome.kind === "rejected") {
      bodies += "\n";
      return outcome;
    }
    const { kind, operation, id, epoch, revision } = outcome;
    bodies += newJsonOf(outcome, intents[index] as Intent) === undefined ? `\n${outcome.body}` : "\n";
    return { kind, operation, id, epoch, revision };
  });
  return JSON.stringify(metas) + bodies;
}

/** Returns the outcomes of `intents`: one for each, or fewer if a rejected intent has aborted the batch. */
export function decodeOutcomes(message: string, intents: readonly Intent[]): Outcome[] {
  const [metas = "", ...bodies] = message.split("\n");
  return (JSON.parse(metas) as OutcomeMeta[]).map((meta, index): Outcome => {
    if (meta.kind === "rejected") return meta;
    const { kind, operation, id, epoch, revision } = meta;
    const intent = intents[index] as Intent;
    const newJson = newJsonOf(meta, intent);
    const body = newJson === undefined ? copyText(bodies[index] as string) : withId(id, newJson);
    if (kind !== "done") return { kind, operation, id, epoch, revision, body };
    return {
      kind,
      operation,
      id,
      epoch,
      revision,
      body,
      change: { revision, resource: intent.resource, id, operation, body },
    };
  });
}

/** Returns the JSON of the values of a record that was created, which the intent has; undefined if it was not created. */
function newJsonOf(
  { kind, operation }: { readonly kind: string; readonly operation: Operation },
  intent: Intent,
): string | undefined {
  if (kind !== "done" || operation !== "create" || intent.operation === "restore") return undefined;
  return intent.match?.newJson ?? intent.valuesJson;
}
