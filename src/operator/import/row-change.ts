// Converts a row to the change of a record.

import { type FieldError, invalidRecordError } from "../../model/errors.ts";
import { parseNewRecord, parseRecordChanges } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { Match } from "../../store/writes/record-match.ts";
import type { NumberedRow } from "./file-rows.ts";
import type { RowInput } from "./matcher.ts";

/** Returns the values of a row. @throws ProblemError `invalid-record` if the row could not be decoded or is not an object */
export function parseInput({ input, fieldErrors }: NumberedRow["decoded"]): RowInput {
  if (fieldErrors.some(({ field }) => field === "")) throw invalidRecordError(fieldErrors);
  if (isObject(input)) return input;
  throw invalidRecordError([{ field: "", detail: `must be a record, not ${JSON.stringify(input)?.slice(0, 40)}` }]);
}

function isObject(input: unknown): input is RowInput {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

/** Returns the change of the record that the row matches, as a part of an intent. @throws ProblemError `invalid-record` */
export function toChange(
  resource: Resource,
  match: Match,
  { ID: _, ...fields }: RowInput,
  fieldErrors: readonly FieldError[],
) {
  const values =
    match.kind === "update"
      ? parseRecordChanges(resource, fields, fieldErrors).values
      : parseNewRecord(resource, fields, fieldErrors);
  const { kind: operation, id, ifStillMatched } = match;
  return { resource: resource.name, operation, id, valuesJson: JSON.stringify(values), ifStillMatched };
}
