// The records of the system site, as the operator's commands read and write them.

import { operator } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { readNewRecord, readRecord, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Intent } from "../model/write.ts";
import { systemSite } from "../store/snapshots.ts";

/** Every live record of a system resource, in ID order. */
export async function systemRecords<T>(engine: Engine, resource: Resource): Promise<T[]> {
  const { rows } = await engine.load(systemSite);
  const bodies = rows.flatMap((row) => (row.resource === resource.name && row.body !== null ? [row.body] : []));
  return bodies.map((body) => JSON.parse(body) as T);
}

/** Stores the intents together or not at all. @throws Refusal `conflict` when somebody changed a record in between */
export async function commitAll(engine: Engine, intents: readonly Intent[]): Promise<string[]> {
  const outcomes = await engine.commit(intents, true);
  return outcomes.map((outcome) => {
    if (outcome.kind === "refused") throw new Refusal("conflict", "somebody else has just changed this; try again");
    return outcome.body;
  });
}

/** Makes a record. @throws Refusal `invalid-record` */
export function toCreate(resource: Resource, values: Values, at: number): Intent {
  const text = JSON.stringify(readNewRecord(resource, values));
  return { site: systemSite, resource: resource.name, operation: "create", text, actor: operator, at };
}

/** Changes the fields in `values`. @throws Refusal `invalid-record` */
export function toUpdate(resource: Resource, id: number, values: Values, at: number): Intent {
  const text = JSON.stringify(readRecord(resource, values).values);
  return { site: systemSite, resource: resource.name, operation: "update", id, text, actor: operator, at };
}

export function toDelete(resource: Resource, id: number, at: number): Intent {
  return { site: systemSite, resource: resource.name, operation: "delete", id, text: "{}", actor: operator, at };
}
