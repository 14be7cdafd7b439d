// The record of a batch operation as canonical JSON (canonical-json.ts). Such a record is valid and needs no further step. A batch
// request keeps up to 10,000 records until its transaction, and a text takes far less memory than decoded values.

import { isCanonicalRecord, matchCanonicalChanges, type SentChanges } from "../model/canonical-json.ts";
import type { Operation } from "../model/change.ts";
import type { Resource } from "../model/resource.ts";
import { completeNewRecord } from "./canonical-completion.ts";
import type { Decoded } from "./format.ts";

/** A record whose JSON is canonical. It is parsed only if its values are needed. */
export class CanonicalRecord implements Decoded {
  readonly fieldErrors = [];
  readonly #json: string;

  constructor(json: string) {
    this.#json = json;
  }

  get input(): unknown {
    return JSON.parse(this.#json);
  }
}

/** Maximum UTF-16 units of a record that is tried as canonical JSON. */
const maxCanonicalLength = 16 * 1024;

/** Returns all values (create) or the changes (update) in the JSON of a record if the JSON is canonical and valid; otherwise undefined. */
export function canonicalIn(operation: Operation, resource: Resource, json: string): SentChanges | undefined {
  if (json.length > maxCanonicalLength || operation === "delete") return undefined;
  if (operation === "update") return matchCanonicalChanges(resource, json);
  const valuesJson = isCanonicalRecord(resource, json) ? json : completedIn(resource, json);
  return valuesJson === undefined ? undefined : { id: undefined, valuesJson };
}

/** Returns the JSON of all values of a new record if the members that were sent are canonical, and the required ones are among them. */
function completedIn(resource: Resource, json: string): string | undefined {
  const changes = matchCanonicalChanges(resource, json);
  return changes && changes.id === undefined ? completeNewRecord(resource, json) : undefined;
}

/** The members `record` and `canonical` of a batch operation. */
export interface RecordOfOperation {
  readonly record: Decoded | undefined;
  readonly canonical?: SentChanges;
}

/**
 * Replaces a decoded record by its canonical JSON, if it has no fault and its members are in the order of their declaration.
 * @param length the UTF-16 units of the record as it was sent
 */
export function toCanonical(
  operation: Operation,
  resource: Resource,
  record: Decoded | undefined,
  length: number,
): RecordOfOperation {
  if (!record || record.fieldErrors.length > 0 || operation === "delete" || length > 2 * maxCanonicalLength)
    return { record };
  const json = JSON.stringify(withIdFirst(record.input));
  const canonical = canonicalIn(operation, resource, json);
  return canonical ? { record: new CanonicalRecord(json), canonical } : { record };
}

/** Returns the same members with `ID` in front, where canonical JSON has it: in XML, it is an attribute. */
function withIdFirst(input: unknown): unknown {
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, "ID")) return input;
  return { ID: (input as { readonly ID: unknown }).ID, ...input };
}
