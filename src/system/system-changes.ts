// Reads and changes the records of the system site: sites, keys, webhooks and operators.
//
// Changes are optimistic, without a lock. `commitSystemChanges` reads the records, lets its caller decide on them, and commits only if the system
// site is still at the head that was read. If another process has changed the system site in between, the caller decides again.
//
// Commands and the console's API read the records here. Requests of clients and the delivery of webhooks do not: the index of sites and keys
// (http/directory.ts) and the index of webhooks (webhooks/records.ts) listen to changes of the cached snapshot of the system site.

import { yieldBetween } from "../lib/event-loop.ts";
import type { Amend } from "../model/amend.ts";
import { headVersion, type Intent, type Outcome, operatorActor } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { systemSite } from "../model/limits.ts";
import { parseNewRecord, parseRecordChanges, toDeclaredJson, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { isSameHead, readAllRows } from "../store/database/site-state.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";

/** The records of the system site as of one head. */
export interface SystemRecords {
  /** Returns the records of a system resource, in ID order. */
  records<T>(resource: Resource): T[];
  /** Returns the ID for the next new record of a system resource. */
  nextId(resource: Resource): number;
}

/** Maximum attempts to decide and commit while other processes change the system site. */
const maxAttempts = 100;

/** Returns the records in a snapshot of the system site. */
export function systemOf(snapshot: Snapshot): Pick<SystemRecords, "records"> {
  const records = <T>(resource: Resource): T[] =>
    Array.from(snapshot.collection(resource), ({ json }) => JSON.parse(json) as T).sort(byId);
  return { records };
}

/**
 * The last records that `readSystemRecords` read from each engine. They are cached because a page of the console reads them several times, and
 * parsing them takes 2 ms for 1,000 sites. The key is the engine's function `readHeads`, because an engine and its wrappers (`withActor`) share it.
 */
const recordsByEngine = new WeakMap<Engine["readHeads"], { readonly head: Head; readonly system: SystemRecords }>();
/** Maximum rows of a system site that is cached: about 25 MB. */
const maxKept = 50_000;

/** Returns the records of the system site as of its present head. */
export async function readSystemRecords(engine: Engine): Promise<SystemRecords> {
  const [head] = (await engine.readHeads([systemSite])) as [Head];
  const kept = recordsByEngine.get(engine.readHeads);
  if (kept && isSameHead(kept.head, head)) return kept.system;
  const { system, head: now, size } = await load(engine);
  if (size <= maxKept) recordsByEngine.set(engine.readHeads, { head: now, system });
  else recordsByEngine.delete(engine.readHeads);
  return system;
}

/**
 * Calls `decide` with the present records, and commits all intents that it returns, or none of them. If another process changes the system site in
 * between, or an intent is rejected, `decide` is called again, at most 100 times in all. Returns the changed records as JSON texts, in the order of
 * the intents; a deleted record as it was before.
 * @throws ProblemError from `decide`, or `conflict` after the last attempt
 */
export async function commitSystemChanges(
  engine: Engine,
  decide: (system: SystemRecords) => readonly Intent[],
): Promise<string[]> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { system, ifHead } = await load(engine);
    const [first, ...others] = decide(system);
    if (!first) return [];
    const outcomes = await engine.commit([{ ...first, ifHead }, ...others], true);
    if (outcomes.every(isStored)) return outcomes.map(({ body }) => body);
  }
  throw new ProblemError("conflict", "others are changing sites, keys and webhooks all the time; try again");
}

/** Returns the intent to create a record. @param id an ID that was never used; by default the next one. @throws ProblemError `invalid-record` */
export function toCreateIntent(resource: Resource, values: Values, at: number, id?: number): Intent {
  const text = JSON.stringify(parseNewRecord(resource, values));
  return {
    site: systemSite,
    resource: resource.name,
    operation: "create",
    id,
    valuesJson: text,
    actor: operatorActor,
    at,
  };
}

/** Returns the intent to change the fields in `values`. @param at milliseconds since 1970. @throws ProblemError `invalid-record` */
export function toUpdateIntent(resource: Resource, id: number, values: Values, at: number): Intent {
  const text = JSON.stringify(parseRecordChanges(resource, values).values);
  return {
    site: systemSite,
    resource: resource.name,
    operation: "update",
    id,
    valuesJson: text,
    actor: operatorActor,
    at,
  };
}

export function toDeleteIntent(resource: Resource, id: number, at: number): Intent {
  return {
    site: systemSite,
    resource: resource.name,
    operation: "delete",
    id,
    valuesJson: "{}",
    actor: operatorActor,
    at,
  };
}

/** Formats a time as the records of the system site contain it (ISO 8601, UTC). @param at milliseconds since 1970 */
export function toInstant(at: number): string {
  return new Date(at).toISOString();
}

async function load(engine: Engine): Promise<{ system: SystemRecords; head: Head; ifHead: string; size: number }> {
  const { head, rows } = await readAllRows(engine, systemSite);
  const parsed = new Map<string, unknown[]>();
  // Deleted records keep their rows, so the highest ID in the rows is the last ID that was assigned.
  const lastIds = new Map<string, number>();
  for await (const { resource: name, id, body } of yieldBetween(rows)) {
    lastIds.set(name, Math.max(lastIds.get(name) ?? 0, id));
    const resource = allResources.find((one) => one.name === name);
    if (!resource || body === null) continue;
    const records = parsed.get(name) ?? [];
    records.push(JSON.parse(toDeclaredJson(resource, body)));
    parsed.set(name, records);
  }
  const system = {
    records: <T>({ name }: Resource) => [...(parsed.get(name) ?? [])] as T[],
    nextId: ({ name }: Resource) => 1 + (lastIds.get(name) ?? 0),
  };
  return { system, head, ifHead: headVersion(head), size: rows.length };
}

function byId(a: unknown, b: unknown): number {
  return (a as { ID: number }).ID - (b as { ID: number }).ID;
}

function isStored(outcome: Outcome): outcome is Exclude<Outcome, { kind: "rejected" }> {
  return outcome.kind !== "rejected";
}

/**
 * Wraps `engine` for one command or one action of an operator: the journal shows this actor and run with each change that the wrapper commits.
 * @param actor such as `operator:anna`
 * @param run the ID that all changes of this command or action share
 */
export function withActor(engine: Engine, actor: string, run: string): Engine {
  const addActor = (intents: readonly Intent[]) => intents.map((intent) => ({ ...intent, actor, runId: run }));
  const signing = (amend: Amend): Amend => ({
    ...amend,
    decide(swap) {
      const { intents, webhooks } = amend.decide(swap);
      return { intents: addActor(intents), webhooks };
    },
  });
  return {
    ...engine,
    commit: (intents, atomic) => engine.commit(addActor(intents), atomic),
    commitAtomically: (batches, onOutcomes) => engine.commitAtomically(signAll(batches, addActor), onOutcomes),
    replaceAllData: (rows, save, amend) => engine.replaceAllData(rows, save, amend && signing(amend)),
  };
}

function* signAll<T>(batches: Iterable<T>, addActor: (batch: T) => T): Generator<T> {
  for (const batch of batches) yield addActor(batch);
}
