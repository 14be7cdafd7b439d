// Creating and changing single records, for an operator.

import { operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { type Intent, versionOf } from "../model/intent.ts";
import { readNewRecord, readRecord, toDeclared } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { VersionedRecord } from "./record-list.ts";
import { type RevisionRange, revisionsOf } from "./revisions.ts";

export interface WrittenRecord extends VersionedRecord {
  /** The journal entry of the change; undefined if nothing changed. */
  readonly revisions: RevisionRange | undefined;
}

/** Creates a record. @param input its values @throws Refusal `invalid-record` with all faults */
export function createRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  input: unknown,
  at: number,
): Promise<WrittenRecord> {
  const text = JSON.stringify(readNewRecord(resource, input));
  return write(engine, resource, {
    site,
    resource: resource.name,
    operation: "create",
    text,
    actor: operatorActor,
    at,
  });
}

/**
 * Changes the fields that are present in `input`.
 * @param ifVersion the version that the operator has seen; undefined to overwrite whatever there is
 * @throws Refusal `invalid-record` with all faults, `not-found`, or `precondition-failed` when the record has another version by now
 */
export function updateRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  input: unknown,
  { ifVersion, at }: { readonly ifVersion: string | undefined; readonly at: number },
): Promise<WrittenRecord> {
  const text = JSON.stringify(readRecord(resource, input).values);
  const common = { site, resource: resource.name, id, text, actor: operatorActor, at };
  return write(engine, resource, {
    ...common,
    operation: "update",
    ifVersion: ifVersion === undefined ? undefined : [ifVersion],
  });
}

async function write(engine: Engine, resource: Resource, intent: Intent): Promise<WrittenRecord> {
  const outcomes = await engine.commit([intent]);
  const [outcome] = outcomes;
  if (!outcome) throw new Error("a commit without an outcome");
  if (outcome.kind !== "refused") {
    const record = JSON.parse(toDeclared(resource, outcome.body));
    return { record, version: versionOf(outcome.epoch, outcome.revision), revisions: revisionsOf(outcomes) };
  }
  const name = `the ${resource.singular} ${intent.id}`;
  if (outcome.why === "precondition-failed")
    throw new Refusal("precondition-failed", `${name} was changed by someone else meanwhile`);
  throw new Refusal("not-found", `${name} does not exist any more`);
}
