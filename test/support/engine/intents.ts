// Intents and outcomes for tests of engines.

import { type Intent, type Outcome, versionOf } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";

export interface TestIntent extends Partial<Intent> {
  /** The values of the record, which become `valuesJson`. */
  readonly values?: object;
}

/** An intent; by default, to create a brand named "Acme" at site 1. */
export function createIntent({ values = { Name: "Acme" }, ...intent }: TestIntent = {}): Intent {
  const valuesJson = JSON.stringify(values);
  return { site: 1, resource: "brand", operation: "create", valuesJson, actor: "test", at: 1, ...intent };
}

/** Deletes the record of a site, as the first step of its removal does. Creates the record first. */
export async function deleteSiteRecord(engine: Engine, id: number): Promise<void> {
  const record = { site: 0, resource: "site", id } as const;
  await engine.commit([createIntent(record), createIntent({ ...record, operation: "delete", values: {} })]);
}

/** The version of a record after a write to it. */
export function versionAfter(outcome: Outcome | undefined): string {
  if (outcome === undefined || outcome.kind === "rejected") throw new Error("it was rejected");
  return versionOf(outcome.epoch, outcome.revision);
}

/** An intent to create a brand. */
export function createBrand(site: number, name: string): Intent {
  return createIntent({ site, values: { Name: name } });
}

/** An intent to update a brand. */
export function updateBrand(site: number, id: number, values: object): Intent {
  return createIntent({ site, operation: "update", id, values });
}

/** An intent to delete a brand. */
export function deleteBrand(site: number, id: number): Intent {
  return createIntent({ site, operation: "delete", id, values: {} });
}

/** Returns the ID in an outcome. */
export function idOf(outcome: Outcome | undefined): number | undefined {
  return outcome && "id" in outcome ? outcome.id : undefined;
}
