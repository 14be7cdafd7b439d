// Decides what one intent does to one record.

import { type Intent, type RejectedOutcome, versionOf } from "../../model/change.ts";
import { merge, type Values, withId } from "../../model/record.ts";
import { parseRecord, stringifyRecord } from "./parsed-record.ts";

/** The row of a record. A deleted record keeps its row, without a body, so that its ID is not used again. */
interface StoredRow {
  readonly revision: number;
  readonly body: string | null;
}

/** A rejection, nothing to write, or the next change of the site. */
type Decision =
  | RejectedOutcome
  | { readonly kind: "unchanged"; readonly id: number; readonly revision: number; readonly body: string }
  | { readonly kind: "change"; readonly id: number; readonly body: string };

/**
 * Decides one intent. An upsert has become an update or a create (record-match.ts).
 * @param row the record's row; undefined if its ID was never used
 * @param nextId the ID for a new record of this site and resource
 * @param epoch the site's epoch
 */
export function decideRecordChange(
  intent: Intent,
  row: StoredRow | undefined,
  nextId: number,
  epoch: string,
): Decision {
  const { operation, id } = intent;
  if (operation === "create") {
    if (row) return { kind: "rejected", rejectionReason: row.body === null ? "id-used" : "id-exists" };
    const newId = id ?? nextId;
    return { kind: "change", id: newId, body: withId(newId, intent.valuesJson) };
  }
  if (id === undefined) throw new Error(`${operation} without an ID`);
  if (operation === "restore") return decideRestore(id, intent, row, epoch);
  if (!row || row.body === null) return { kind: "rejected", rejectionReason: "not-found" };
  if (!meetsConditions(intent, row, epoch)) return { kind: "rejected", rejectionReason: "precondition-failed" };
  if (operation === "delete") return { kind: "change", id, body: row.body };
  return decideUpdate(id, intent.valuesJson, row.revision, row.body);
}

function meetsConditions({ ifVersion, ifNotVersion }: Intent, { revision }: StoredRow, epoch: string): boolean {
  if (!ifVersion && !ifNotVersion) return true;
  const version = versionOf(epoch, revision);
  if (ifVersion && !ifVersion.includes(version)) return false;
  return !ifNotVersion?.some((excluded) => excluded === "*" || excluded === version);
}

function decideUpdate(id: number, valuesJson: string, revision: number, body: string): Decision {
  const record = parseRecord(body);
  const merged = merge(record, JSON.parse(valuesJson) as Values);
  if (merged === record) return { kind: "unchanged", id, revision, body };
  return { kind: "change", id, body: stringifyRecord(merged) };
}

/**
 * Decides the operation `restore`. A record that is in the state already is unchanged. Otherwise the conditions apply, to deleted records too: the revision
 * of a deleted record is the revision of the delete.
 */
function decideRestore(id: number, intent: Intent, row: StoredRow | undefined, epoch: string): Decision {
  if (!row) return { kind: "rejected", rejectionReason: "not-found" };
  const body = intent.valuesJson;
  if (row.body === body) return { kind: "unchanged", id, revision: row.revision, body };
  if (!meetsConditions(intent, row, epoch)) return { kind: "rejected", rejectionReason: "precondition-failed" };
  return { kind: "change", id, body };
}
