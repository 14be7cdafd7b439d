// A row of an import as an intent.

import { type Fault, invalidRecord } from "../model/errors.ts";
import { readNewRecord, readRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Match, RowInput } from "./matcher.ts";
import type { NumberedRow } from "./rows.ts";

/** The values of a row. @throws Refusal `invalid-record` when the row could not be decoded or is not an object */
export function readInput({ input, faults }: NumberedRow["decoded"]): RowInput {
  if (faults.some(({ field }) => field === "")) throw invalidRecord(faults);
  if (isObject(input)) return input;
  throw invalidRecord([{ field: "", detail: `must be a record, not ${JSON.stringify(input)?.slice(0, 40)}` }]);
}

function isObject(input: unknown): input is RowInput {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

/** What a row does to the record that it matches. @throws Refusal `invalid-record` */
export function toIntent(resource: Resource, match: Match, { ID: _, ...fields }: RowInput, faults: readonly Fault[]) {
  const values =
    match.kind === "update" ? readRecord(resource, fields, faults).values : readNewRecord(resource, fields, faults);
  const { kind: operation, id, ifFound } = match;
  return { resource: resource.name, operation, id, text: JSON.stringify(values), ifFound };
}
