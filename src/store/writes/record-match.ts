// Upserts update the record that has a value, or create one. Imports (`--match`) and batch requests (`match`) use them. A batch request can also delete the
// record that has a value.
//
// The writer looks up the records with the value, and validates the fields both as changes and as a new record, so an upsert is plain data
// (`Intent.match`). The transaction brings the match up to date (current-matches.ts) and turns it into one or the other (`resolveMatch`).

import type { FoundRecords, Intent, Match, RejectedOutcome } from "../../model/change.ts";
import { maxFoundIds } from "../../model/change.ts";
import {
  type FieldError,
  fault,
  firstErrorOnly,
  fullLimits,
  invalidRecordError,
  ProblemError,
} from "../../model/errors.ts";
import { parseNewRecord, parseRecordChanges } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";

type UpsertValues = Pick<Intent, "valuesJson"> & Pick<Match, "newJson">;

/**
 * Validates fields both as changes and as a new record.
 * @param fields as decoded; `ID` is ignored
 * @param fieldErrors errors from decoding
 * @param changesJson the changes, if they're known to be valid
 */
export function toUpsertValues(
  resource: Resource,
  fields: Readonly<Record<string, unknown>>,
  fieldErrors: readonly FieldError[],
  changesJson?: string,
): UpsertValues {
  const jsonAs = (kind: "create" | "update") => {
    try {
      return JSON.stringify(validateAs(kind, resource, fields, fieldErrors, firstErrorOnly));
    } catch (error) {
      if (error instanceof ProblemError) return "";
      throw error;
    }
  };
  const valuesJson = changesJson ?? jsonAs("update");
  // Fields that are invalid as changes are invalid in a new record too.
  const newJson = valuesJson === "" ? "" : jsonAs("create");
  return { valuesJson, newJson: newJson === valuesJson ? undefined : newJson };
}

/** @throws ProblemError `invalid-record` */
export function validateAs(
  kind: "create" | "update",
  resource: Resource,
  { ID: _, ...fields }: Readonly<Record<string, unknown>>,
  fieldErrors: readonly FieldError[],
  limits = fullLimits,
) {
  return kind === "create"
    ? parseNewRecord(resource, fields, fieldErrors, limits)
    : parseRecordChanges(resource, fields, fieldErrors, limits).values;
}

/** Returns what's wrong with fields known to be invalid. */
export function validationProblem(...args: Parameters<typeof validateAs>): ProblemError {
  try {
    validateAs(...args);
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error("a valid record was rejected as invalid");
}

/** Returns the update, create or delete that an intent with a match amounts to if the records `found` have its value, or why it's rejected. */
export function resolveMatch(
  intent: Intent,
  { newJson = intent.valuesJson }: Match,
  found: FoundRecords,
): Intent | RejectedOutcome {
  if (found.count > 1) return { kind: "rejected", rejectionReason: "several-matches", found };
  const [id] = found.ids;
  const isDelete = intent.operation === "delete";
  if (id === undefined) {
    if (isDelete) return { kind: "rejected", rejectionReason: "not-found" };
    if (newJson === "") return { kind: "rejected", rejectionReason: "invalid-create" };
    return { ...intent, operation: "create", valuesJson: newJson, match: undefined };
  }
  if (intent.id !== undefined && intent.id !== id) return { kind: "rejected", rejectionReason: "precondition-failed" };
  if (intent.valuesJson === "") return { kind: "rejected", rejectionReason: "invalid-update" };
  return { ...intent, operation: isDelete ? "delete" : "update", id, match: undefined };
}

/** Returns the ID if exactly one record has the value. */
export function onlyRecord({ ids, count }: FoundRecords): number | undefined {
  return count === 1 ? ids[0] : undefined;
}

/** How many records to list in a message. */
const maxNamed = maxFoundIds - 1;

/** The error if several records have an upsert's value. @param field its path */
export function severalMatchesError(field: string, { count, ids }: FoundRecords): ProblemError {
  const some = ids.slice(0, maxNamed).join(", ") + (ids.length > maxNamed ? ", ..." : "");
  return invalidRecordError([{ field, ...fault("several-matches", ` (${some}); name one by its ID`, { count }) }]);
}
