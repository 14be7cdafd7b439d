// The errors of rejected rows.

import type { Intent, RejectedOutcome } from "../../model/change.ts";
import { type ErrorLimits, type FieldError, invalidRecordError, type ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { severalMatchesError, validationProblem } from "../../store/writes/record-match.ts";
import type { NumberedRow } from "./file-rows.ts";

/** Creates the error for a row with an ID that the engine has given to a new record since the import began. */
export function idGivenError(id: number | undefined): FieldError {
  const causeAndAdvice = "by others or for an earlier row without an ID; put rows with IDs first, and import again";
  return { field: "", detail: `the ID ${id} was given to a new record during the import, ${causeAndAdvice}` };
}

/** Creates the errors for a row from the rejection of its intent. */
export function rejectionFieldErrors(
  { rejectionReason, found }: RejectedOutcome,
  { id, match }: Intent,
  resource: Resource,
  { decoded: { input, fieldErrors } }: NumberedRow,
  limits?: ErrorLimits,
): readonly FieldError[] {
  if (found && match) return severalMatchesError(match.keys.join("."), found).fieldErrors;
  if (rejectionReason === "invalid-create" || rejectionReason === "invalid-update") {
    const kind = rejectionReason === "invalid-create" ? "create" : "update";
    return validationProblem(kind, resource, input as Readonly<Record<string, unknown>>, fieldErrors, limits)
      .fieldErrors;
  }
  if (rejectionReason === "other-epoch")
    return [{ field: "", detail: "the site was restored, renewed or removed during the import" }];
  if (rejectionReason === "id-exists") return [idGivenError(id)];
  const deleted = `the record ${id} was deleted`;
  return [
    {
      field: "",
      detail:
        rejectionReason === "id-used" ? `${deleted}; restore it with restore-record` : `${deleted} during the import`,
    },
  ];
}

/** Creates the error for a row that would match the record of an earlier row which is not stored yet. */
export function repeatedValueError(field = ""): ProblemError {
  return invalidRecordError([{ field, detail: "an earlier row has the same value (--atomic)" }]);
}
