// The records of batch operations. A batch request keeps up to 10,000 of them until its transaction, so they are kept as texts, which take far less
// memory than decoded values, and those that aren't valid with their errors instead. A record in canonical JSON (canonical-json.ts) is valid and isn't even parsed.

import { isCanonicalRecord, matchCanonicalChanges, type SentChanges } from "../model/canonical-json.ts";
import { type ErrorBudget, type FieldError, ProblemError } from "../model/errors.ts";
import { isJsonObject } from "../model/field.ts";
import { parseNewRecord, parseRecordChanges } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { SentOperation } from "./batch-format.ts";
import { completeNewRecord } from "./canonical-completion.ts";
import type { Decoded } from "./format.ts";

/** A record as JSON. It is parsed whenever its values are needed. */
export class TextRecord implements Decoded {
  readonly fieldErrors: readonly FieldError[];
  readonly #json: string;
  readonly #parse: (json: string) => unknown;

  /** @param parse returns the value of the text; by default, the text is one that `JSON.stringify` has written */
  constructor(json: string, fieldErrors: readonly FieldError[] = [], parse = JSON.parse) {
    this.#json = json;
    this.fieldErrors = fieldErrors;
    this.#parse = parse;
  }

  get input(): unknown {
    return this.#parse(this.#json);
  }
}

/** Maximum UTF-16 units of a record that is tried as canonical JSON. */
const maxCanonicalLength = 16 * 1024;

/** The members of an operation that decide what its record must have. */
type RecordOwner = Pick<SentOperation, "method" | "resource" | "id">;

/** Returns all values (create) or the changes (update) in the JSON of a record if the JSON is canonical and valid; otherwise undefined. */
export function canonicalIn({ method: operation, resource, id }: RecordOwner, json: string): SentChanges | undefined {
  const isWrong = operation === "create" && id !== undefined;
  if (json.length > maxCanonicalLength || operation === "delete" || isWrong) return undefined;
  if (operation === "update") return matchCanonicalChanges(resource, json);
  const valuesJson = isCanonicalRecord(resource, json) ? json : completedIn(resource, json);
  return valuesJson === undefined ? undefined : { id: undefined, valuesJson };
}

/** Returns the JSON of all values of a new record if the members that were sent are canonical, and the required ones are among them. */
function completedIn(resource: Resource, json: string): string | undefined {
  const changes = matchCanonicalChanges(resource, json);
  return changes && changes.id === undefined ? completeNewRecord(resource, json) : undefined;
}

/** The members of an operation that say whether its record is valid. */
export type ValidatedRecord = Pick<SentOperation, "canonical" | "problem" | "limits">;

/** Validates a decoded record. @param errors those of the records of the request */
export function validate(
  { method, resource, id }: RecordOwner,
  { input, fieldErrors }: Decoded,
  errors: ErrorBudget,
): ValidatedRecord {
  const { limits } = errors;
  if (!isJsonObject(input)) return { limits };
  try {
    if (method !== "create") {
      const { id, values } = parseRecordChanges(resource, input, fieldErrors, limits);
      return { canonical: { id, valuesJson: JSON.stringify(values) }, limits };
    }
    const known = id === undefined || Object.hasOwn(input, "ID") ? fieldErrors : [...fieldErrors, idOfNewRecord];
    const values = parseNewRecord(resource, input, known, limits);
    return { canonical: { id: undefined, valuesJson: JSON.stringify(values) }, limits };
  } catch (problem) {
    if (!(problem instanceof ProblemError)) throw problem;
    errors.spend(problem.fieldErrors.length);
    return { problem, limits };
  }
}

const idOfNewRecord: FieldError = {
  field: "ID",
  detail: "must be absent: the server assigns the ID of a new record",
};
