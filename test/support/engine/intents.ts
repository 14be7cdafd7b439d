// Intents and outcomes for engine tests.

import { type Intent, type Outcome, versionOf } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";

export interface TestIntent extends Partial<Intent> {
  /** The record's values, which become `valuesJson`. */
  readonly values?: object;
}

/** Makes an intent, by default to create a brand named "Acme" on site 1. */
export function createIntent({ values = { Name: "Acme" }, ...intent }: TestIntent = {}): Intent {
  const valuesJson = JSON.stringify(values);
  return { site: 1, resource: "brand", operation: "create", valuesJson, actor: "test", at: 1, ...intent };
}

/** Creates a site's record and deletes it, which is the first step of removing the site. */
export async function deleteSiteRecord(engine: Engine, id: number): Promise<void> {
  const record = { site: 0, resource: "site", id } as const;
  await engine.commit([createIntent(record), createIntent({ ...record, operation: "delete", values: {} })]);
}

/** Returns a record's version after a write. */
export function versionAfter(outcome: Outcome | undefined): string {
  if (outcome === undefined || outcome.kind === "rejected") throw new Error("the write was rejected");
  return versionOf(outcome.epoch, outcome.revision);
}

export function createBrand(site: number, name: string): Intent {
  return createIntent({ site, values: { Name: name } });
}

export function updateBrand(site: number, id: number, values: object): Intent {
  return createIntent({ site, operation: "update", id, values });
}

export function deleteBrand(site: number, id: number): Intent {
  return createIntent({ site, operation: "delete", id, values: {} });
}

export function idOf(outcome: Outcome | undefined): number | undefined {
  return outcome && "id" in outcome ? outcome.id : undefined;
}
