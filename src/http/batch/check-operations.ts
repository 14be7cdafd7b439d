// Checks what can be checked about operations without the site's records: IDs, conditions and match values. The operations' own records were validated when
// they were decoded. A valid operation becomes a write to the record it names, or to one found by a value (`match`).

import type { MalformedOperation, SentOperation } from "../../formats/batch-operation.ts";
import type { Decoded } from "../../formats/format.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { SentChanges } from "../../model/canonical-json.ts";
import type { Operation } from "../../model/change.ts";
import {
  type ErrorLimits,
  type Fault,
  type FieldError,
  fault,
  invalidRecordError,
  maxFieldErrors,
  ProblemError,
} from "../../model/errors.ts";
import { describeNonObject, isEmptyList, isJsonObject } from "../../model/field.ts";
import { textAt } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import { versionsInIfMatch } from "../conditional-requests.ts";
import { MemberError, malformedProblem } from "./operation-problems.ts";

export type CheckedOperation = FaultyOperation | CheckedWrite;

/** An operation that can be stored, provided the site's records allow it. */
export type CheckedWrite = NamedWrite | MatchedWrite;

/** An operation that can't be stored, whatever records the site has. */
interface FaultyOperation {
  readonly kind: "faulty";
  /** From 1. */
  readonly number: number;
  readonly resource: Resource;
  readonly problem: ProblemError;
}

interface Write {
  readonly resource: Resource;
  /** As sent. */
  readonly ifMatch: string | undefined;
  /** The versions in `ifMatch`; undefined for any version. */
  readonly ifVersion: readonly string[] | undefined;
}

/** A create, or an update or delete by ID. */
export interface NamedWrite extends Write {
  readonly kind: "named";
  readonly operation: Operation;
  /** Undefined for a create. */
  readonly id: number | undefined;
  /** As `Intent.valuesJson`. */
  readonly valuesJson: string;
}

/** An update of the record with a value in a field, or if there is none, a create; or a delete of the record with the value. */
export interface MatchedWrite extends Write {
  readonly kind: "matched";
  readonly operation: "update" | "delete";
  readonly field: TextFieldPath;
  readonly value: string;
  /** An object. Unless it turns out to be an update and `canonical` is set, it's validated again once it's known whether the record is new. */
  readonly record: Decoded;
  /** The changes, if they'd be a valid update. */
  readonly canonical: SentChanges | undefined;
  /** How many errors of the record are reported. */
  readonly limits: ErrorLimits;
  /** Returns the number of an earlier operation that deletes this record or changes its value; undefined if there is none. */
  readonly movedBy: (id: number) => number | undefined;
}

export type SentFields = Readonly<Record<string, unknown>>;

/**
 * Checks operations. Yields to the event loop in between.
 * @param match as `BatchParameters.match`
 * @param malformed the request's other operations. If there are any, the check stops once there are more errors than a problem lists
 * @throws ProblemError `bad-request` if any operation is malformed, or has to be matched but its resource doesn't have the field. It lists the errors of all
 */
export async function checkOperations(
  operations: readonly SentOperation[],
  match: string | undefined,
  malformed: readonly MalformedOperation[] = [],
): Promise<readonly CheckedOperation[]> {
  const matching = match === undefined ? undefined : new MatchingCheck(match);
  const checked: CheckedOperation[] = [];
  const allMalformed = [...malformed];
  let faults = malformed.reduce((sum, one) => sum + one.faults.length, 0);
  const yieldIfDue = createYielder();
  for (const operation of operations) {
    await yieldIfDue();
    const one = matching ? matching.check(operation) : orFaulty(operation, () => checkNamed(operation));
    if ("faults" in one) allMalformed.push(one);
    else checked.push(one);
    if ("faults" in one) faults += one.faults.length;
    else if (one.kind === "faulty") faults += Math.max(1, one.problem.fieldErrors.length);
    if (allMalformed.length > 0 && faults > maxFieldErrors) break;
  }
  if (allMalformed.length > 0)
    throw malformedProblem(
      allMalformed,
      checked.filter((one) => one.kind === "faulty"),
    );
  return checked;
}

function orFaulty({ number, resource }: SentOperation, check: () => CheckedOperation): CheckedOperation {
  try {
    return check();
  } catch (problem) {
    if (problem instanceof ProblemError) return { kind: "faulty", number, resource, problem };
    throw problem;
  }
}

function fieldsIn({ record }: SentOperation): SentFields | undefined {
  const input = record?.input;
  return isJsonObject(input) ? input : undefined;
}

/** @param otherName how to name the record other than by its ID @throws ProblemError if the operation can't be stored */
function checkNamed(sent: SentOperation, otherName = "use `match`"): NamedWrite {
  const { method: operation, resource, ifMatch } = sent;
  const { id, valuesJson } = operation === "create" ? recordOf(sent) : checkChanges(sent, otherName);
  if (operation === "create" && ifMatch !== undefined)
    throw new MemberError("bad-request", "IfMatch", "`IfMatch` isn't allowed on a create");
  return { kind: "named", resource, operation, id, valuesJson, ifMatch, ifVersion: parseIfMatch(ifMatch) };
}

function checkChanges(sent: SentOperation, otherName: string): SentChanges {
  const saysNothing = sent.method === "delete" && (!sent.record || isEmptyValue(sent.record.input));
  const changes = saysNothing ? noChanges : recordOf(sent);
  const id = sent.id ?? changes.id;
  if (id === undefined) throw new MemberError("ambiguous-id", "ID", `no record given: set \`ID\`, or ${otherName}`);
  if (changes.id === undefined || changes.id === id) return { id, valuesJson: changes.valuesJson };
  const detail = `\`ID\` and the record name different records: ${id}, ${changes.id}`;
  throw new MemberError("ambiguous-id", "ID", detail);
}

/** Like the body of a delete, its record may be empty. */
function isEmptyValue(input: unknown): boolean {
  return input === null || input === "" || isEmptyList(input);
}

const noChanges: SentChanges = { id: undefined, valuesJson: "{}" };

/** @throws ProblemError `invalid-record`, including for an operation without a record */
function recordOf({ canonical, problem, record, resource }: SentOperation): SentChanges {
  if (canonical) return canonical;
  if (problem) throw problem;
  const one = `one ${resource.singular}`;
  const wrong = record
    ? fault("wrong-type", ` with ${one}, not ${describeNonObject(record.input)}`, { expected: "object" })
    : fault("required", `: ${one}`);
  throw invalidRecordError([{ field: "Record", ...wrong }]);
}

function parseIfMatch(ifMatch: string | undefined): readonly string[] | undefined {
  try {
    return ifMatch === undefined ? undefined : versionsInIfMatch(ifMatch, "IfMatch");
  } catch (error) {
    throw error instanceof ProblemError ? new MemberError(error.code, "IfMatch", error.message) : error;
  }
}

/** Checks the operations of a request with `match`, in order. */
class MatchingCheck {
  readonly #path: string;
  readonly #fields = new Map<Resource, TextFieldPath | undefined>();
  /** The number of the first create or update whose record has a value, by resource and value. */
  readonly #writes = new Map<string, number>();
  /** The same for deletes. */
  readonly #deletes = new Map<string, number>();
  /** The number of the first operation that deletes a record or sends a value for it, by resource and ID. */
  readonly #moves = new Map<string, number>();

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns a malformed operation if it would have to be matched but its resource doesn't have the field. */
  check(sent: SentOperation): CheckedOperation | MalformedOperation {
    const { method, resource, id, number } = sent;
    const fields = fieldsIn(sent);
    const field = this.#fieldOf(resource);
    const isMatched = method !== "create" && id === undefined && fields !== undefined && !Object.hasOwn(fields, "ID");
    if (isMatched && !field) return { number, faults: [noFieldFault(resource, this.#path)] };
    const checked = orFaulty(sent, () =>
      isMatched && field
        ? this.#checkMatched(sent, field, fields)
        : checkNamed(sent, field && `send \`${field.path}\` in \`Record\``),
    );
    if (field) this.#track(sent, field, fields);
    return checked;
  }

  #fieldOf(resource: Resource): TextFieldPath | undefined {
    if (!this.#fields.has(resource)) this.#fields.set(resource, findTextField(resource, this.#path));
    return this.#fields.get(resource);
  }

  #checkMatched(sent: SentOperation, field: TextFieldPath, fields: SentFields): MatchedWrite {
    const { number, method, resource, ifMatch, canonical, problem, limits } = sent;
    const operation = method === "delete" ? method : "update";
    const record = sent.record as Decoded;
    const value = textAt(fields, field.keys);
    // If the value isn't even a string, that's the better error.
    if (value === "") throw problem ?? matchError(field, fault("required", " to find the record by it"));
    const name = nameOf(resource, value);
    // A second delete finds no record, as with an ID.
    const earlier = this.#writes.get(name) ?? (operation === "delete" ? undefined : this.#deletes.get(name));
    if (earlier !== undefined)
      throw matchError(
        field,
        fault("duplicate-value", `operation ${earlier} has the same value; send one for each value`),
      );
    // A new record could have more errors, but only this one would be reported.
    if (problem && (operation === "delete" || limits.maxErrors === 1)) throw problem;
    const movedBy = (found: number) => {
      const move = this.#moves.get(nameOf(resource, found));
      return move !== undefined && move < number ? move : undefined;
    };
    const ifVersion = parseIfMatch(ifMatch);
    return {
      kind: "matched",
      operation,
      resource,
      ifMatch,
      ifVersion,
      field,
      value,
      record,
      canonical,
      limits,
      movedBy,
    };
  }

  #track(sent: SentOperation, { keys }: TextFieldPath, fields: SentFields | undefined): void {
    const { number, method, resource, id = fields?.ID } = sent;
    const value = textAt(fields, keys);
    if (value !== "") setFirst(method === "delete" ? this.#deletes : this.#writes, nameOf(resource, value), number);
    if (id !== undefined && (method === "delete" || hasMember(fields, keys)))
      setFirst(this.#moves, nameOf(resource, id), number);
  }
}

function nameOf({ path }: Resource, value: unknown): string {
  return `${path} ${value}`;
}

function setFirst(numbers: Map<string, number>, name: string, number: number): void {
  if (!numbers.has(name)) numbers.set(name, number);
}

function hasMember(fields: unknown, keys: readonly string[]): boolean {
  let value = fields;
  for (const key of keys) value = (value as SentFields | null | undefined)?.[key];
  return value !== undefined;
}

export function matchError({ path }: TextFieldPath, wrong: Fault): ProblemError {
  return invalidRecordError([{ field: path, ...wrong }]);
}

function noFieldFault({ plural, textFields }: Resource, path: string): FieldError {
  const paths = textFields.map((textField) => textField.path).join(", ");
  const hint = `; ${plural} can't be matched by \`${path.slice(0, 100)}\`, only by ${paths}`;
  return { field: "Resource", ...fault("unknown-field", hint) };
}
