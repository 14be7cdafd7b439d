// Messages between this thread and the writer thread.
//
// A batch's intents or outcomes are one string. The first line is a JSON list of them, without their records. Each further line is the JSON of one
// record, which has no line breaks. Structured cloning of the objects would take twice as long.

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

/** The writer thread's calls. Intents and outcomes are encoded. */
export interface WriterCalls {
  /** Only opens the database. */
  open(): void;
  commit(intents: string, atomic: boolean): string;
  beginBatches(options: AtomicCommitOptions): void;
  addBatch(intents: string): string;
  endBatches(shouldCommit: boolean): AtomicCommitResult;
  probeWrite(): void;
  /** Returns whether there may be more to delete. */
  deleteExpiredResponses(before: number, most: number): boolean;
  /** Runs operations in one transaction. Returns their results. */
  operations(calls: readonly OperationCall[]): readonly unknown[];
  close(): void;
}

export type CallName = keyof WriterCalls;

/** Any later message to the thread. */
export interface WriterCall<Name extends CallName = CallName> {
  readonly name: Name;
  readonly args: Parameters<WriterCalls[Name]>;
}

export type SendCall = <Name extends CallName>(
  name: Name,
  ...args: Parameters<WriterCalls[Name]>
) => Promise<ReturnType<WriterCalls[Name]>>;

/** A failure is plain data, because an error loses its class on its way to another thread. */
export type WriterResult = { readonly value: unknown } | { readonly failure: WriterFailure };

export interface WriterFailure {
  /** The code of a ProblemError. */
  readonly problem: ErrorCode | undefined;
  /** SQLite's error code. */
  readonly code: string | undefined;
  readonly message: string;
}

export interface OperationCall {
  readonly name: OperationName;
  /** Plain data. */
  readonly args: readonly unknown[];
  /** When it was called, in milliseconds since 1970. */
  readonly now: number;
}

/** `valuesJson` has its own line. */
type IntentMeta = Omit<Intent, "valuesJson"> & { readonly valuesJson?: undefined };

/** The record has its own line, which is empty for a new one. The change is left out, because it follows from the intent. */
type OutcomeMeta = RejectedOutcome | (Omit<RecordAfterWrite, "body"> & { kind: "done" | "unchanged" | "replayed" });

export function encodeIntents(intents: readonly Intent[]): string {
  let texts = "";
  // JSON.stringify omits undefined members. Overwriting this one is faster than copying all the others.
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

/** @param intents those of the outcomes; the receiving thread has them too */
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

/** Returns one outcome per intent, or fewer if a rejection aborted the batch. */
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

/** If the record was created, its values are those of the intent. Returns their JSON. */
function newJsonOf(
  { kind, operation }: { readonly kind: string; readonly operation: Operation },
  intent: Intent,
): string | undefined {
  if (kind !== "done" || operation !== "create" || intent.operation === "restore") return undefined;
  return intent.match?.newJson ?? intent.valuesJson;
}
