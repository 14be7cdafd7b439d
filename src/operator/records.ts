// Creates, updates and deletes records for an operator.

import { type Intent, operatorActor, versionOf } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { epochToKeep, type Head } from "../model/head.ts";
import { parseNewRecord, parseRecordChanges, toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { findConflicts, WriteRefusedError } from "./conflicts.ts";
import { epochChangedError, type RevisionRange, revisionsOf } from "./journal/journal-entries.ts";
import type { VersionedRecord } from "./read-records.ts";

export interface WrittenRecord extends VersionedRecord {
  /** The revisions of the change; undefined if nothing changed. */
  readonly revisions: RevisionRange | undefined;
}

/**
 * Creates a record.
 * @param input its values
 * @throws ProblemError `invalid-record` with all field errors, or `conflict` if the site was removed at the same time
 */
export function createRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  input: unknown,
  at: number,
): Promise<WrittenRecord> {
  const text = JSON.stringify(parseNewRecord(resource, input));
  return commitIntent(engine, resource, {
    site,
    resource: resource.name,
    operation: "create",
    valuesJson: text,
    actor: operatorActor,
    at,
  });
}

/**
 * Updates the fields that are present in `input`.
 * @param ifVersion the version that the operator has seen; undefined to update any version
 * @throws ProblemError `invalid-record` with all field errors, `not-found`, `precondition-failed` if the record has another version now, or
 *   `conflict` if the site was removed at the same time. With `precondition-failed`, a WriteRefusedError with the stored record
 */
export function updateRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  input: unknown,
  { ifVersion, at }: { readonly ifVersion: string | undefined; readonly at: number },
): Promise<WrittenRecord> {
  const valuesJson = JSON.stringify(parseRecordChanges(resource, input).values);
  const common = { site, resource: resource.name, id, valuesJson, actor: operatorActor, at };
  return commitIntent(engine, resource, {
    ...common,
    operation: "update",
    ifVersion: ifVersion === undefined ? undefined : [ifVersion],
  });
}

/** Commits one intent. @throws ProblemError `not-found`, `precondition-failed`, or `conflict` if the site has another epoch */
async function commitIntent(engine: Engine, resource: Resource, intent: Intent): Promise<WrittenRecord> {
  const outcomes = await engine.commit([intent]);
  const [outcome] = outcomes;
  if (!outcome) throw new Error("a commit without an outcome");
  if (outcome.kind !== "rejected") {
    const record = JSON.parse(toDeclaredJson(resource, outcome.body));
    return { record, version: versionOf(outcome.epoch, outcome.revision), revisions: revisionsOf(outcomes) };
  }
  if (outcome.rejectionReason === "other-epoch") throw epochChangedError();
  const name = `the ${resource.singular} ${intent.id}`;
  if (outcome.rejectionReason === "precondition-failed") {
    const expected = { id: intent.id as number, ifVersion: intent.ifVersion?.[0] };
    const { conflicts, conflictCount } = await findConflicts(engine, intent.site, resource, [expected]);
    const detail = `${name} was changed by someone else meanwhile`;
    throw new WriteRefusedError("precondition-failed", detail, { conflicts, conflictCount });
  }
  throw new ProblemError("not-found", `${name} does not exist any more`);
}

interface DeletedRecords {
  /** The deleted records as JSON texts, in the order of `ids`. */
  readonly records: readonly string[];
  readonly revisions: RevisionRange | undefined;
}

/**
 * Deletes records, all of them or none. An ID that occurs twice counts once.
 * @throws ProblemError `not-found` with an ID that does not exist, `conflict` if the site was restored, renewed or removed at the same time
 */
export async function deleteRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  ids: readonly number[],
  at: number,
): Promise<DeletedRecords> {
  const [head] = (await engine.readHeads([site])) as [Head];
  const unique = [...new Set(ids)];
  const common = {
    site,
    resource: resource.name,
    operation: "delete",
    valuesJson: "{}",
    actor: operatorActor,
    at,
  } as const;
  const ifEpoch = epochToKeep(head);
  const outcomes = await engine.commit(
    unique.map((id) => ({ ...common, id, ifEpoch })),
    { atomic: true },
  );
  const records = outcomes.map((outcome, index) => {
    if (outcome.kind !== "rejected") return outcome.body;
    if (outcome.rejectionReason === "other-epoch") throw epochChangedError();
    throw new ProblemError("not-found", `there is no ${resource.singular} ${unique[index]}; nothing was deleted`);
  });
  return { records, revisions: revisionsOf(outcomes) };
}
