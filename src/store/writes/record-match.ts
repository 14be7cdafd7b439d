// Matches a write with the record that it updates or creates, by a value: for imports (`--match`) and batch requests (`match`).
//
// Two terms: the value is the *match value* of the write. Its *match*, as of a revision, is the only record with this value in the field, or no record:
// then the write creates a record. The intent has the condition `ifStillMatched`: the transaction rejects the intent if other writers have changed its
// match since that revision. Then the caller *rematches* the write, which is to catch up and to find the match again (matched-writes.ts).

import type { Intent, MatchCondition } from "../../model/change.ts";
import { type FieldError, invalidRecordError } from "../../model/errors.ts";
import { parseNewRecord, parseRecordChanges } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { type FoundRecords, maxFoundIds } from "../memory/order.ts";

/** The record to update, or none, so that the write creates one: with the next ID, if `id` is undefined. `ifStillMatched`: see `Intent`. */
export type Match = { readonly ifStillMatched?: MatchCondition | undefined } & (
  | { readonly kind: "update"; readonly id: number }
  | { readonly kind: "create"; readonly id: number | undefined }
);

/** Finds the records of a site by the text of one field, as of one revision. */
export interface RecordFinder {
  /** The revision as of which the records are known. They may be known as of later revisions too. */
  readonly revision: number;
  /** Returns the records of a resource that have this text. */
  find(resource: string, text: string): FoundRecords;
}

/** Maximum records that a message names. */
const maxNamed = maxFoundIds - 1;

/** Returns the match of a value. @throws ProblemError `invalid-record` if the value is empty, or if several records have it */
export function matchByValue(
  finder: RecordFinder,
  resource: string,
  { keys, value }: Pick<MatchCondition, "keys" | "value">,
): Match {
  const field = keys.join(".");
  if (value === "") throw invalidRecordError([{ field, detail: "is empty, so no record can be matched by it" }]);
  const found = finder.find(resource, value);
  if (found.count > 1) throw invalidRecordError([{ field, detail: severalDetail(found) }]);
  const ifStillMatched = { keys, value, revision: finder.revision };
  const [id] = found.ids;
  return id === undefined ? { kind: "create", id, ifStillMatched } : { kind: "update", id, ifStillMatched };
}

function severalDetail({ count, ids }: FoundRecords): string {
  const some = ids.slice(0, maxNamed).join(", ") + (ids.length > maxNamed ? ", ..." : "");
  return `${count} records have this value: ${some}`;
}

/** The part of an intent that follows from the match. */
type MatchedChange = Pick<Intent, "resource" | "operation" | "id" | "valuesJson" | "ifStillMatched">;

/**
 * Returns the change of the record that was matched: validates the fields as those of a new record, or as changes.
 * @param fields as decoded. A member `ID` is left out
 * @param fieldErrors the errors of decoding, which are reported together with those of validation
 * @throws ProblemError `invalid-record`
 */
export function toMatchedChange(
  resource: Resource,
  match: Match,
  { ID: _, ...fields }: Readonly<Record<string, unknown>>,
  fieldErrors: readonly FieldError[],
): MatchedChange {
  const values =
    match.kind === "update"
      ? parseRecordChanges(resource, fields, fieldErrors).values
      : parseNewRecord(resource, fields, fieldErrors);
  const { kind: operation, id, ifStillMatched } = match;
  return { resource: resource.name, operation, id, valuesJson: JSON.stringify(values), ifStillMatched };
}

/**
 * Returns the intent for the present match of its match value. Without `ifStillMatched`, the intent stays as it is. Its values are validated again only
 * if the match is another record.
 * @param toChange makes the change, as `toMatchedChange` does
 * @throws ProblemError `invalid-record`
 */
export function rematchIntent(finder: RecordFinder, intent: Intent, toChange: (match: Match) => MatchedChange): Intent {
  if (!intent.ifStillMatched) return intent;
  const match = matchByValue(finder, intent.resource, intent.ifStillMatched);
  const { kind, id, ifStillMatched } = match;
  if (kind === intent.operation && id === intent.id) return { ...intent, ifStillMatched };
  return { ...intent, ...toChange(match) };
}
