// Reads and changes the records of the system site: sites, keys, webhooks and operators.
//
// Changes are optimistic, without a lock. `commitSystemChanges` reads the records, lets its caller decide on them, and commits only if the system
// site is still at the head that was read. If another process has changed the system site in between, the caller decides again.
//
// Commands and the console's API read the records here. Requests of clients and the delivery of webhooks use the index (system-site-index.ts).

import { yieldBetween } from "../lib/yielding.ts";
import { headVersion, type Intent, type Outcome, operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { type Head, isSameHead } from "../model/head.ts";
import { parseNewRecord, parseRecordChanges, toDeclaredJson, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import { key as keyResource } from "../resources/key.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import { readAllRows } from "../store/database/read-all-rows.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { KeyRecord, OperatorRecord, SiteRecord, SystemRecords, WebhookRecord } from "./system-records.ts";

const systemResources = [siteResource, keyResource, webhookResource, operatorResource];

/** Maximum attempts to decide and commit while other processes change the system site. */
const maxAttempts = 100;

/** Returns the sites and operators in a snapshot of the system site. They are parsed when they are used. */
export function systemOf(snapshot: Snapshot): Pick<SystemRecords, "sites" | "operators"> {
  const parse = <T extends { readonly ID: number }>(resource: Resource): T[] =>
    Array.from(snapshot.collection(resource), ({ json }): T => JSON.parse(json)).sort((a, b) => a.ID - b.ID);
  return {
    get sites(): SiteRecord[] {
      return parse(siteResource);
    },
    get operators(): OperatorRecord[] {
      return parse(operatorResource);
    },
  };
}

/** The system site as it was read. */
interface SystemRead {
  readonly system: SystemRecords;
  readonly head: Head;
  /** The number of rows. */
  readonly size: number;
}

/**
 * Keeps the records that were read last, as long as the head of the system site is the same. A page of the console reads them several times, and parsing
 * them takes 2 ms for 1,000 sites.
 */
class SystemRecordsCache {
  #latest: SystemRead | undefined;

  async read(engine: Engine): Promise<SystemRecords> {
    const [head] = (await engine.readHeads([systemSite])) as [Head];
    if (this.#latest && isSameHead(this.#latest.head, head)) return this.#latest.system;
    const read = await readSystem(engine);
    this.#latest = read.size <= maxCachedRows ? read : undefined;
    return read.system;
  }
}

/** Maximum rows of a system site that is cached: about 25 MB. */
const maxCachedRows = 50_000;

/** The cache of each engine. A wrapper can share the cache of the engine that it wraps (`shareSystemRecords`). */
const caches = new WeakMap<Engine, SystemRecordsCache>();

function cacheOf(engine: Engine): SystemRecordsCache {
  const cache = caches.get(engine) ?? new SystemRecordsCache();
  caches.set(engine, cache);
  return cache;
}

/** Lets `wrapper` use the cache of `engine`, whose database it uses. */
export function shareSystemRecords(engine: Engine, wrapper: Engine): void {
  caches.set(wrapper, cacheOf(engine));
}

/** Returns the records of the system site as of its present head. */
export function readSystemRecords(engine: Engine): Promise<SystemRecords> {
  return cacheOf(engine).read(engine);
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
    const { system, head } = await readSystem(engine);
    const [first, ...others] = decide(system);
    if (!first) return [];
    const outcomes = await engine.commit([{ ...first, ifHead: headVersion(head) }, ...others], true);
    if (outcomes.every(isStored)) return outcomes.map(({ body }) => body);
  }
  throw new ProblemError("conflict", "others keep changing sites, keys, webhooks or operators; try again");
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

async function readSystem(engine: Engine): Promise<SystemRead> {
  const { head, rows } = await readAllRows(engine, systemSite);
  const parsed = new Map<string, unknown[]>(systemResources.map(({ name }) => [name, []]));
  let lastSiteId = 0;
  for await (const { resource: name, id, body } of yieldBetween(rows)) {
    // Deleted records keep their rows, so the highest ID in the rows is the last ID that was assigned.
    if (name === siteResource.name) lastSiteId = Math.max(lastSiteId, id);
    const resource = systemResources.find((one) => one.name === name);
    if (resource && body !== null) parsed.get(name)?.push(JSON.parse(toDeclaredJson(resource, body)));
  }
  const system: SystemRecords = {
    sites: parsed.get(siteResource.name) as SiteRecord[],
    keys: parsed.get(keyResource.name) as KeyRecord[],
    webhooks: parsed.get(webhookResource.name) as WebhookRecord[],
    operators: parsed.get(operatorResource.name) as OperatorRecord[],
    nextSiteId: lastSiteId + 1,
  };
  return { system, head, size: rows.length };
}

function isStored(outcome: Outcome): outcome is Exclude<Outcome, { kind: "rejected" }> {
  return outcome.kind !== "rejected";
}
