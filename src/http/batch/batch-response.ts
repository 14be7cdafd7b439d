// Makes the response to a batch request: one result of each operation, in order.

import type { EncodedResult, SentOperation } from "../../formats/batch-format.ts";
import { type Format, statusOf } from "../../formats/format.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { AcceptedOutcome } from "../../model/change.ts";
import { recordEtag } from "../../model/etag.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { TextInParts, TextPart } from "../../store/memory/text-in-parts.ts";
import type { WireResponse } from "../../wire/response.ts";
import { chooseCoding } from "../compression.ts";
import type { RequestContext } from "../request-context.ts";
import { respondEncoded, toProblemDocument } from "../responses.ts";
import type { BatchResults, OperationResult } from "./results.ts";

/** Characters of a part of the response. A part is compressed in one step. */
const partChars = 64 << 10;

/** Makes the response to a batch request. Yields to the event loop in between. @param operations of the request */
export async function respondToBatch(
  context: RequestContext,
  format: Format,
  operations: readonly SentOperation[],
  batch: BatchResults,
): Promise<WireResponse> {
  const parts = await encodeResults(context, format, operations, batch);
  const list = new TextInParts(parts.map((bytes) => new TextPart(bytes)));
  const coding = chooseCoding(context.request.headers.get("accept-encoding"), list.length);
  const headers: Record<string, string> = { Vary: "Accept-Encoding" };
  if (batch.isReplay) headers["Idempotency-Replayed"] = "true";
  return respondEncoded(context, { type: format.contentType, list, coding }, headers);
}

/** Encodes the results of a batch request. Returns the bytes in parts. Yields to the event loop in between. @param operations of the request */
export async function encodeResults(
  context: Pick<RequestContext, "id">,
  format: Format,
  operations: readonly SentOperation[],
  { run, results }: BatchResults,
): Promise<Buffer[]> {
  const { start, result, separator, end } = format.batch;
  const parts: Buffer[] = [];
  const yieldIfDue = createYielder();
  let text = start(run);
  for (const [index, one] of results.entries()) {
    await yieldIfDue();
    const { resource } = operations[index] as SentOperation;
    text += (index === 0 ? "" : separator) + result(toEncodedResult(context, format, resource, one));
    if (text.length < partChars) continue;
    // Here, and not at the end: the concatenated strings are only now written in one piece, which takes as long as all before it.
    parts.push(Buffer.from(text));
    text = "";
  }
  return [...parts, Buffer.from(text + end)];
}

function toEncodedResult(
  context: Pick<RequestContext, "id">,
  format: Format,
  resource: Resource,
  result: OperationResult,
): EncodedResult {
  if ("outcome" in result) return toStoredResult(format, resource, result.outcome);
  const { problem } = result;
  return { status: statusOf(problem.code), problem: toProblemDocument(context, problem) };
}

function toStoredResult({ name }: Format, resource: Resource, outcome: AcceptedOutcome): EncodedResult {
  const { kind, operation, epoch, revision, body } = outcome;
  const common = {
    status: operation === "create" ? 201 : 200,
    changed: kind !== "unchanged",
    resource,
    record: toDeclaredJson(resource, body),
  };
  return operation === "delete" ? common : { ...common, etag: recordEtag(resource, name, epoch, revision) };
}
