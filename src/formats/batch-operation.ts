// Batch operations, as both formats read them: an envelope (method, resource, ID and condition) and a record, which is decoded with the same limits and errors
// as a body with a single record.

import { findNearest, formatHint } from "../lib/text.ts";
import { isCanonicalRecord, matchCanonicalChanges, type SentChanges } from "../model/canonical-json.ts";
import type { Operation } from "../model/change.ts";
import {
  alternatives,
  ErrorBudget,
  type ErrorLimits,
  type Fault,
  type FieldError,
  fault,
  firstErrorOnly,
  fullLimits,
  ProblemError,
} from "../model/errors.ts";
import { isJsonObject, wrongTypeFault } from "../model/field.ts";
import { maxBatchOperations } from "../model/limits.ts";
import { idFault, idOfNewRecord, isId, parseNewRecord, parseRecordChanges } from "../model/record.ts";
import { type Resource, writtenResources } from "../model/resource.ts";
import type { Decoded } from "./format.ts";
import { type ItemErrors, type ItemReader, itemsOfBody, maxItemLength } from "./items.ts";
import { parseJson } from "./json-parser.ts";
import { maxValues } from "./syntax-errors.ts";
import { utf8Chunks } from "./text-encoding.ts";

export type ReadOperation = SentOperation | MalformedOperation;

/** An operation whose envelope has faults. Its record was not decoded. */
export interface MalformedOperation {
  /** From 1. */
  readonly number: number;
  /** At least one, without the number of the operation. */
  readonly faults: readonly FieldError[];
}

/** An operation of a batch request: its envelope and its record are checked, as far as that's possible without the other operations. */
export interface SentOperation {
  /** From 1. */
  readonly number: number;
  readonly method: Operation;
  /** A resource that can be written. */
  readonly resource: Resource;
  /** The member `ID`. The record may name an ID too. */
  readonly id: number | undefined;
  /** As it was sent; its grammar is that of the header field `If-Match`. */
  readonly ifMatch: string | undefined;
  readonly record: Decoded | undefined;
  /** All values of the record (create) or its changes (update, delete), if it's valid. */
  readonly canonical?: SentChanges | undefined;
  /** Why the record isn't valid. Undefined also if it isn't an object. */
  readonly problem?: ProblemError | undefined;
  /** How many errors of the record are reported. */
  readonly limits: ErrorLimits;
}

/** The envelope of an operation: its members without the record. */
export type Envelope = Pick<SentOperation, "number" | "method" | "resource" | "id" | "ifMatch">;
type UncheckedEnvelope = { readonly [Member in keyof Envelope]: Envelope[Member] | undefined };

/**
 * Reads the operations of a body.
 * @param items the reader of the items in its format
 * @param parse parses an item, which is an operation
 */
export function* readOperations<T extends { readonly number: number; readonly text: string }>(
  body: Uint8Array,
  items: ItemReader<T>,
  parse: (item: T) => ReadOperation,
): Generator<ReadOperation | undefined, void> {
  for (const item of itemsOfBody(items, utf8Chunks(body))) {
    if (item && item.number > maxBatchOperations)
      throw new ProblemError(
        "too-large",
        `a batch can have up to ${maxBatchOperations.toLocaleString("en-GB")} operations; split this one`,
      );
    // A UTF-16 unit has at most three bytes in UTF-8.
    if (item && 3 * item.text.length > maxItemLength && Buffer.byteLength(item.text) > maxItemLength)
      throw operationErrors.tooLong(item.number);
    yield item && parse(item);
  }
}

export const operationErrors: ItemErrors = {
  tooLong(number) {
    const detail = `is longer than ${maxItemLength} bytes; its end may be missing`;
    return new ProblemError("too-large", `operation ${number} ${detail}`, {
      fieldErrors: [{ operation: number, field: "", code: "too-large", detail }],
    });
  },
  inItem(number, error) {
    if (!(error instanceof ProblemError)) return error;
    const { code, message, cause } = error;
    const fieldErrors = error.fieldErrors.map((fault) => ({ operation: number, ...fault }));
    return new ProblemError(code, message, { fieldErrors, cause });
  },
};

const methods = new Map<unknown, Operation>([
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "update"],
  ["DELETE", "delete"],
]);

/** The members of an envelope, as they were sent; undefined if they are absent. */
interface SentEnvelope {
  readonly Method: unknown;
  readonly Resource: unknown;
  readonly ID: unknown;
  readonly IfMatch: unknown;
}

/** The names of the members of an operation. In XML, all but the record are attributes. */
export const memberNames: readonly string[] = ["Method", "Resource", "ID", "IfMatch", "Record"];

/** Checks the operations of a request. */
export class OperationParser {
  readonly #resources: ReadonlyMap<unknown, Resource>;
  /** Those of the records. */
  readonly #errors = new ErrorBudget(firstErrorOnly);

  /** @param resources the resources that have endpoints */
  constructor(resources: readonly Resource[]) {
    this.#resources = new Map(resources.map((resource) => [resource.path, resource]));
  }

  /**
   * Checks an envelope. The result is an `Envelope` if there are no faults.
   * @param faults the faults that are already known, without the number of the operation; gets the others
   */
  envelope(number: number, { Method, Resource, ID, IfMatch }: SentEnvelope, faults: FieldError[]): UncheckedEnvelope {
    const method = methods.get(Method);
    const resource = this.#resources.get(Resource);
    if (method === undefined) addFault(faults, "Method", choiceFault(Method, [...methods.keys()].map(String)));
    if (resource?.access !== "written") addFault(faults, "Resource", this.#resourceFault(Resource, resource));
    if (ID !== undefined && !isId(ID)) addFault(faults, "ID", idFault(ID));
    if (IfMatch !== undefined && typeof IfMatch !== "string")
      addFault(faults, "IfMatch", wrongTypeFault("string", IfMatch));
    return { number, method, resource, id: ID as number | undefined, ifMatch: IfMatch as string | undefined };
  }

  /** How many errors of the next record are reported. */
  get limits(): ErrorLimits {
    return this.#errors.limits;
  }

  withoutRecord(envelope: Envelope): SentOperation {
    return { ...envelope, record: undefined, limits: fullLimits };
  }

  /** Returns an operation whose record is canonical JSON, and so needn't be parsed; undefined if the record isn't. */
  withCanonical(envelope: Envelope, json: string): SentOperation | undefined {
    const canonical = canonicalIn(envelope, json);
    return canonical && { ...envelope, record: new TextRecord(json), canonical, limits: fullLimits };
  }

  /** Validates the record of an operation. @param json its text, if it's in JSON */
  withRecord(envelope: Envelope, decoded: Decoded, json = JSON.stringify(decoded.input)): SentOperation {
    const { limits } = this;
    try {
      const canonical = isJsonObject(decoded.input)
        ? validate(envelope, decoded.input, decoded.fieldErrors, limits)
        : undefined;
      return { ...envelope, record: new TextRecord(json), canonical, limits };
    } catch (problem) {
      if (!(problem instanceof ProblemError)) throw problem;
      this.#errors.spend(problem.fieldErrors.length);
      return {
        ...envelope,
        record: new TextRecord(json, decoded.fieldErrors.slice(0, limits.maxErrors + 1)),
        problem,
        limits,
      };
    }
  }

  #resourceFault(sent: unknown, resource: Resource | undefined): Fault {
    const choices = writtenResources([...this.#resources.values()]).map(({ path }) => path);
    if (!resource) return choiceFault(sent, choices);
    return fault("invalid-choice", `; ${resource.plural} can only be read`, { choices });
  }
}

/** Adds a fault, unless the member has one already, such as that it appears more than once. */
export function addFault(faults: FieldError[], field: string, added: Fault): void {
  if (!faults.some((known) => known.field === field)) faults.push({ field, ...added });
}

/** Returns the fault of a value other than `choices`. */
function choiceFault(sent: unknown, choices: readonly string[]): Fault {
  if (sent === undefined) return fault("required", `: ${alternatives(choices)}`);
  if (typeof sent !== "string") return wrongTypeFault("string", sent);
  const meant = formatHint(findNearest(sent, choices), "", sent);
  return fault("invalid-choice", `, not \`${sent.slice(0, 100)}\`${meant && `; ${meant}`}`, { choices });
}

/** Faults of an envelope after which no more are collected. Each unknown member is a fault. */
export const maxFaults = 20;

/**
 * A record as JSON, which is parsed whenever its values are needed. A batch request keeps up to 10,000 records until its transaction, and texts take far less
 * memory than decoded values.
 */
class TextRecord implements Decoded {
  readonly fieldErrors: readonly FieldError[];
  readonly #json: string;

  constructor(json: string, fieldErrors: readonly FieldError[] = []) {
    this.#json = json;
    this.fieldErrors = fieldErrors;
  }

  get input(): unknown {
    return parseJson(this.#json, maxValues).input;
  }
}

/** Maximum UTF-16 units of a record that is tried as canonical JSON. */
const maxCanonicalLength = 16 * 1024;

/** Returns all values (create) or the changes (update) in the JSON of a record if the JSON is canonical and valid; otherwise undefined. */
function canonicalIn({ method, resource, id }: Envelope, json: string): SentChanges | undefined {
  const isWrong = method === "create" && id !== undefined;
  if (json.length > maxCanonicalLength || method === "delete" || isWrong) return undefined;
  if (method === "update") return matchCanonicalChanges(resource, json);
  return isCanonicalRecord(resource, json) ? { id: undefined, valuesJson: json } : undefined;
}

/** @throws ProblemError if the record isn't valid */
function validate(
  { method, resource, id: sentId }: Envelope,
  input: Readonly<Record<string, unknown>>,
  fieldErrors: readonly FieldError[],
  limits: ErrorLimits,
): SentChanges {
  if (method !== "create") {
    const { id, values } = parseRecordChanges(resource, input, fieldErrors, limits);
    return { id, valuesJson: JSON.stringify(values) };
  }
  const known = sentId === undefined || Object.hasOwn(input, "ID") ? fieldErrors : [...fieldErrors, idOfNewRecord];
  return { id: undefined, valuesJson: JSON.stringify(parseNewRecord(resource, input, known, limits)) };
}
