// Creates and deletes records for an operator. several-records.ts changes them.

import { type Intent, operatorActor, versionOf } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { epochToKeep, type Head } from "../../model/head.ts";
import { parseNewRecord, toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { epochChangedError, type RevisionRange, revisionsOf } from "../journal/journal-entries.ts";
import type { VersionedRecord } from "./read-records.ts";

interface WrittenRecord extends VersionedRecord {
  /** Undefined if nothing changed. */
  readonly revisions: RevisionRange | undefined;
}

/** @throws ProblemError `invalid-record` with all field errors, or `conflict` if the site was removed in the meantime */
export async function createRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  input: unknown,
  at: number,
): Promise<WrittenRecord> {
  const valuesJson = JSON.stringify(parseNewRecord(resource, input));
  const intent: Intent = {
    site,
    resource: resource.name,
    operation: "create",
    valuesJson,
    actor: operatorActor,
    at,
  };
  const outcomes = await engine.commit([intent]);
  const [outcome] = outcomes;
  // A create without conditions is only rejected if the site was removed.
  if (!outcome || outcome.kind === "rejected") throw epochChangedError();
  const record = JSON.parse(toDeclaredJson(resource, outcome.body));
  return { record, version: versionOf(outcome.epoch, outcome.revision), revisions: revisionsOf(outcomes) };
}

interface DeletedRecords {
  /** As JSON, in the order of `ids`. */
  readonly records: readonly string[];
  readonly revisions: RevisionRange | undefined;
}

/**
 * Deletes all the records or none. Repeated IDs count once.
 * @throws ProblemError `not-found` with an ID that doesn't exist, `conflict` if the site was restored, renewed or removed in the meantime
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
    throw new ProblemError("not-found", `there's no ${resource.singular} ${unique[index]}, so nothing was deleted`);
  });
  return { records, revisions: revisionsOf(outcomes) };
}
