// The envelope of an operation of a batch request: its method, resource, ID and condition, which both formats check in the same way.

import { findNearest, formatHint } from "../lib/text.ts";
import type { Operation } from "../model/change.ts";
import { type FieldError, ProblemError } from "../model/errors.ts";
import { describeJsonType, isJsonObject } from "../model/field.ts";
import { maxBatchOperations } from "../model/limits.ts";
import { idFault, isId } from "../model/record.ts";
import { type Resource, writtenResources } from "../model/resource.ts";
import type { ReadOperation, SentOperation, SentUndo } from "./batch-format.ts";
import { firstPosition, maxItemLength, type Position, positionInSteps } from "./syntax-errors.ts";

/** Where an operation is. */
export interface OperationPlace {
  /** The body. */
  readonly text: string;
  /** The index at which the operation begins. */
  readonly begin: number;
  /** The number of the operation, from 1. */
  readonly number: number;
}

/**
 * Reads the operation at a place. If it cannot be parsed, it is read twice, because only that error needs the position of the operation in the body.
 * @param read gets that position @throws as `read` does
 */
export function* readOperation(
  place: OperationPlace,
  read: (place: OperationPlace, from: Position) => ReadOperation,
): Generator<undefined, ReadOperation> {
  try {
    return read(place, firstPosition);
  } catch {
    return read(place, yield* positionInSteps(place.text, place.begin));
  }
}

const methods = new Map<unknown, Operation>([
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "update"],
  ["DELETE", "delete"],
]);

/** The members of an operation without its record, as they were sent; undefined if they are absent. */
interface SentEnvelope {
  readonly Method: unknown;
  readonly Resource: unknown;
  readonly ID: unknown;
  readonly IfMatch: unknown;
}

/** The names of the members of an operation. In XML, all but the record are attributes. */
export const memberNames: readonly string[] = ["Method", "Resource", "ID", "IfMatch", "Record"];

/** Members of an operation that was checked. */
export type Envelope = Pick<SentOperation, "method" | "resource" | "id" | "ifMatch">;
type UncheckedEnvelope = { readonly [Member in keyof Envelope]: Envelope[Member] | undefined };

/** Checks the envelopes of the operations of a request. */
export class EnvelopeParser {
  readonly #resources: ReadonlyMap<unknown, Resource>;

  /** @param resources the resources that have endpoints */
  constructor(resources: readonly Resource[]) {
    this.#resources = new Map(resources.map((resource) => [resource.path, resource]));
  }

  /**
   * Parses an envelope. The result is an `Envelope` if there are no faults.
   * @param faults the faults that are already known, without the number of the operation; gets the others
   */
  parse({ Method, Resource, ID, IfMatch }: SentEnvelope, faults: FieldError[]): UncheckedEnvelope {
    const method = methods.get(Method);
    const resource = this.#resources.get(Resource);
    if (method === undefined) addFault(faults, "Method", choiceFault(Method, "method", [...methods.keys()]));
    if (resource?.access !== "written") addFault(faults, "Resource", this.#resourceFault(Resource, resource));
    if (ID !== undefined && !isId(ID)) addFault(faults, "ID", idFault(ID));
    if (IfMatch !== undefined && typeof IfMatch !== "string")
      addFault(faults, "IfMatch", `must be a string, not ${describeJsonType(IfMatch)}`);
    return { method, resource, id: ID as number | undefined, ifMatch: IfMatch as string | undefined };
  }

  #resourceFault(sent: unknown, resource: Resource | undefined): string {
    if (resource) return `${resource.plural} can only be read`;
    const written = writtenResources([...this.#resources.values()]);
    return choiceFault(
      sent,
      "resource",
      written.map(({ path }) => path),
    );
  }
}

/** Adds a fault, unless the member has one already, such as that it appears more than once. */
export function addFault(faults: FieldError[], field: string, detail: string): void {
  if (!faults.some((known) => known.field === field)) faults.push({ field, detail });
}

/** Returns the fault of a value other than `choices`. @param noun what the value should name */
function choiceFault(sent: unknown, noun: string, choices: readonly unknown[]): string {
  const names = choices.map(String);
  const list = `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
  if (sent === undefined) return `is required: ${list}`;
  if (typeof sent !== "string") return `must be a string, not ${describeJsonType(sent)}`;
  const hint = formatHint(findNearest(sent, names), `use ${list}`, sent);
  return `there is no ${noun} \`${sent.slice(0, 100)}\`; ${hint}`;
}

/** Returns the detail of a member that does not exist. @param names the names of the members that exist */
export function noSuchMember(name: string, names: readonly string[], noun = "member"): string {
  const nearest = findNearest(name, names);
  if (nearest !== undefined) return `no such ${noun}; ${formatHint(nearest, "", name)}`;
  return names.length < 2 ? `no such ${noun}` : `no such ${noun}; there is ${names.join(", ")}`;
}

/** Faults of an envelope after which no more are collected. Each unknown member is a fault. */
export const maxFaults = 20;

/** Returns the error of a body that cannot be parsed, with the number of the operation in its field errors. Its message names line and column. */
export function addOperationNumber(number: number, error: unknown): unknown {
  if (!(error instanceof ProblemError)) return error;
  const { code, message, cause } = error;
  const fieldErrors = error.fieldErrors.map((fault) => ({ operation: number, ...fault }));
  return new ProblemError(code, message, { fieldErrors, cause });
}

/** Returns the error of a request with too many operations. */
export function tooManyOperationsError(): ProblemError {
  return new ProblemError("too-large", `a batch has at most ${maxBatchOperations} operations; divide it`);
}

/** Maximum UTF-16 units of an operation that cannot have more than `maxItemLength` bytes. A unit has at most three bytes in UTF-8. */
const maxCertainLength = Math.floor(maxItemLength / 3);

/** @throws ProblemError `too-large` if the operation has more than `maxItemLength` bytes @param end the index after the operation */
export function requireShort({ text, begin, number }: OperationPlace, end: number): void {
  if (end - begin <= maxCertainLength) return;
  if (Buffer.byteLength(text.slice(begin, end)) > maxItemLength) throw longOperationError(number);
}

/** Returns the error of an operation that has more than `maxItemLength` bytes. */
export function longOperationError(number: number): ProblemError {
  const detail = `is longer than ${maxItemLength} bytes; its end may be missing`;
  return new ProblemError("too-large", `operation ${number} ${detail}`, {
    fieldErrors: [{ operation: number, field: "", detail }],
  });
}

/**
 * Returns the decoded body of a request to undo a run.
 * @param fieldErrors errors of form, such as a name that appears twice
 * @param form the form of the body, for messages
 * @throws ProblemError `bad-request`
 */
export function toUndo(input: unknown, fieldErrors: readonly FieldError[], form: string): SentUndo {
  if (!isJsonObject(input)) throw new ProblemError("bad-request", `the body must be \`${form}\``);
  const { Run: run } = input;
  const faults = [...fieldErrors];
  for (const name of Object.keys(input)) {
    if (name !== "Run" && faults.length < maxFaults)
      faults.push({ field: name.slice(0, 100), detail: noSuchMember(name, ["Run"]) });
  }
  if (run === undefined) addFault(faults, "Run", "is required");
  else if (typeof run !== "string") addFault(faults, "Run", `must be a string, not ${describeJsonType(run)}`);
  const [first] = faults;
  if (!first) return { run: run as string };
  const detail = `the body must be \`${form}\`: \`${first.field}\`: ${first.detail}`;
  throw new ProblemError("bad-request", detail, { fieldErrors: faults.slice(0, maxFaults) });
}
