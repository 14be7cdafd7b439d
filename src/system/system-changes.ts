// Changes the system site's records: sites, keys, webhooks and operators.
//
// Changes are optimistic, without a lock. `commitSystemChanges` reads the records, lets its caller decide, and only commits if the system site is still
// at the head that was read. If another process has changed it in between, the caller decides again.

import { randomText } from "../lib/text.ts";
import { type AcceptedOutcome, headVersion, type Intent, type Outcome, operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { parseNewRecord, parseRecordChanges, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import { readSystemWithHead } from "./read-system-records.ts";
import type { SystemRecords } from "./system-records.ts";

/** For when other processes keep changing the system site. */
const maxAttempts = 100;

/**
 * Commits all intents that `decide` returns, or none. Calls it again if another process changes the system site in between or an intent is rejected, up
 * to 100 times in all.
 * @returns the changed records as JSON, in the order of the intents; deleted records as they were
 * @throws ProblemError from `decide`, or `conflict` after the last attempt
 */
export async function commitSystemChanges(
  engine: Engine,
  decide: (system: SystemRecords) => readonly Intent[] | Promise<readonly Intent[]>,
): Promise<string[]> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { system, head } = await readSystemWithHead(engine);
    const [first, ...others] = await decide(system);
    if (!first) return [];
    const outcomes = await engine.commit([{ ...first, ifHead: headVersion(head) }, ...others], { atomic: true });
    if (outcomes.every(isStored)) return outcomes.map(({ body }) => body);
  }
  throw new ProblemError(
    "conflict",
    "someone else keeps changing sites, keys, webhooks or operators; try again in a moment",
  );
}

/** Gives the record a UID if its kind has one. @param id must never have been used; by default the next one. @throws ProblemError `invalid-record` */
export function toCreateIntent(resource: Resource, values: Values, at: number, id?: number): Intent {
  const isIdentified = resource.textFields.some(({ path }) => path === "UID");
  const all = isIdentified ? { ...values, UID: values.UID || randomText(16) } : values;
  return {
    ...toIntent(resource, id, at),
    operation: "create",
    valuesJson: JSON.stringify(parseNewRecord(resource, all)),
  };
}

/** @param values the fields to change @param at milliseconds since 1970 @throws ProblemError `invalid-record` */
export function toUpdateIntent(resource: Resource, id: number, values: Values, at: number): Intent {
  const changes = parseRecordChanges(resource, values).values;
  return { ...toIntent(resource, id, at), operation: "update", valuesJson: JSON.stringify(changes) };
}

export function toDeleteIntent(resource: Resource, id: number, at: number): Intent {
  return { ...toIntent(resource, id, at), operation: "delete", valuesJson: "{}" };
}

function toIntent(resource: Resource, id: number | undefined, at: number) {
  return { site: systemSite, resource: resource.name, id, actor: operatorActor, at };
}

/** Formats a time for the system site's records (ISO 8601, UTC). @param at milliseconds since 1970 */
export function toInstant(at: number): string {
  return new Date(at).toISOString();
}

function isStored(outcome: Outcome): outcome is AcceptedOutcome {
  return outcome.kind !== "rejected";
}
