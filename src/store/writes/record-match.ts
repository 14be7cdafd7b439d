// Upserts: writes that update the record that has a value, or create it; for imports (`--match`) and batch requests (`match`).
//
// The writer looks up the records that have the value, and validates the fields both ways: as changes, and as a new record. So an upsert is plain data
// (`Intent.match`). The transaction brings the records up to date (present-matches.ts), and decides which of the two it becomes (`toReading`).

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

/** The part of an upsert that follows from its fields. */
type UpsertValues = Pick<Intent, "valuesJson"> & Pick<Match, "newJson">;

/**
 * Validates fields as changes, and as a new record.
 * @param fields as decoded. A member `ID` is left out
 * @param fieldErrors the errors of decoding
 * @param changesJson the changes, if they are known to be valid
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
  // What isn't valid as a change isn't valid as a new record either.
  const newJson = valuesJson === "" ? "" : jsonAs("create");
  return { valuesJson, newJson: newJson === valuesJson ? undefined : newJson };
}

/** Validates fields as those of a new record, or as changes. @throws ProblemError `invalid-record` */
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

/** Returns why fields aren't valid. They must not be. */
export function validationProblem(...args: Parameters<typeof validateAs>): ProblemError {
  try {
    validateAs(...args);
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error("a valid record was rejected as invalid");
}

/** Returns what an upsert is if the records `found` have its value, or why it is rejected. */
export function toReading(
  intent: Intent,
  { newJson = intent.valuesJson }: Match,
  found: FoundRecords,
): Intent | RejectedOutcome {
  if (found.count > 1) return { kind: "rejected", rejectionReason: "several-matches", found };
  const [id] = found.ids;
  if (id === undefined) {
    if (newJson === "") return { kind: "rejected", rejectionReason: "invalid-create" };
    return { ...intent, operation: "create", valuesJson: newJson, match: undefined };
  }
  if (intent.id !== undefined && intent.id !== id) return { kind: "rejected", rejectionReason: "precondition-failed" };
  if (intent.valuesJson === "") return { kind: "rejected", rejectionReason: "invalid-update" };
  return { ...intent, operation: "update", id, match: undefined };
}

/** Returns the ID of the only record with a value; undefined if none or several have it. */
export function onlyRecord({ ids, count }: FoundRecords): number | undefined {
  return count === 1 ? ids[0] : undefined;
}

/** Maximum records that a message names. */
const maxNamed = maxFoundIds - 1;

/** Returns the error of an upsert whose value several records have. @param field its path */
export function severalMatchesError(field: string, { count, ids }: FoundRecords): ProblemError {
  const some = ids.slice(0, maxNamed).join(", ") + (ids.length > maxNamed ? ", ..." : "");
  return invalidRecordError([{ field, ...fault("several-matches", ` (${some}); name one by its ID`, { count }) }]);
}
