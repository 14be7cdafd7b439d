// Reads the records of the system site: sites, keys, webhooks and operators.
//
// Commands and the console's API read the records here. Requests of clients and the delivery of webhooks use the index (system-site-index.ts).

import { yieldBetween } from "../lib/yielding.ts";
import type { Engine } from "../model/engine.ts";
import { type Head, isSameHead } from "../model/head.ts";
import { toDeclaredJson } from "../model/record.ts";
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
    const read = await readSystemWithHead(engine);
    this.#latest = read.size <= maxCachedRows ? read : undefined;
    return read.system;
  }
}

/** Maximum rows of a system site that is cached: about 25 MB. */
const maxCachedRows = 50_000;

/**
 * The cache of each engine. A wrapper (`{ ...engine, commit }`) begins with an empty cache, so a wrapper through which the records are read must share the
 * cache of the engine that it wraps (`shareSystemRecords`). Otherwise, each action of the console would parse all records.
 */
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

/** Reads the records from the database with their head, without the cache. */
export async function readSystemWithHead(engine: Engine): Promise<SystemRead> {
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

/** Returns the sites and operators in a snapshot of the system site. They are parsed when they are used. */
export function sitesAndOperatorsIn(snapshot: Snapshot): Pick<SystemRecords, "sites" | "operators"> {
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
