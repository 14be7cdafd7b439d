// Reads the system site's records (sites, keys, webhooks and operators) for commands and the console's API. Client requests and webhook delivery use the
// index instead (system-site-index.ts).

import { yieldBetween } from "../lib/yielding.ts";
import type { Engine } from "../model/engine.ts";
import { type Head, isSameHead } from "../model/head.ts";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import { event as eventResource } from "../resources/event.ts";
import { key as keyResource } from "../resources/key.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import { readAllRows } from "../store/database/read-all-rows.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type {
  EventRecord,
  KeyRecord,
  OperatorRecord,
  SiteRecord,
  SystemRecords,
  WebhookRecord,
} from "./system-records.ts";

const systemResources = [siteResource, keyResource, webhookResource, operatorResource, eventResource];

interface SystemRead {
  readonly system: SystemRecords;
  readonly head: Head;
  /** In rows. */
  readonly size: number;
}

/**
 * Keeps what was read last until the system site's head changes, because a page of the console reads it several times, and parsing takes 2 ms for 1,000
 * sites.
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

/** About 25 MB. */
const maxCachedRows = 50_000;

/**
 * One per engine. A wrapper (`{ ...engine, commit }`) starts with an empty cache. If records are read through it, it must share the cache of the engine
 * it wraps (`shareSystemRecords`), or every action in the console would parse all records.
 */
const caches = new WeakMap<Engine, SystemRecordsCache>();

function cacheOf(engine: Engine): SystemRecordsCache {
  const cache = caches.get(engine) ?? new SystemRecordsCache();
  caches.set(engine, cache);
  return cache;
}

/** @param wrapper must use the same database */
export function shareSystemRecords(engine: Engine, wrapper: Engine): void {
  caches.set(wrapper, cacheOf(engine));
}

/** As of the system site's current head. */
export function readSystemRecords(engine: Engine): Promise<SystemRecords> {
  return cacheOf(engine).read(engine);
}

/** Bypasses the cache. */
export async function readSystemWithHead(engine: Engine): Promise<SystemRead> {
  const { head, rows } = await readAllRows(engine, systemSite);
  const parsed = new Map<string, unknown[]>(systemResources.map(({ name }) => [name, []]));
  let lastSiteId = 0;
  for await (const { resource: name, id, body } of yieldBetween(rows)) {
    // Deleted records keep their rows, so the highest ID is the last one assigned.
    if (name === siteResource.name) lastSiteId = Math.max(lastSiteId, id);
    const resource = systemResources.find((one) => one.name === name);
    if (resource && body !== null) parsed.get(name)?.push(JSON.parse(toDeclaredJson(resource, body)));
  }
  const system: SystemRecords = {
    sites: parsed.get(siteResource.name) as SiteRecord[],
    keys: parsed.get(keyResource.name) as KeyRecord[],
    webhooks: parsed.get(webhookResource.name) as WebhookRecord[],
    operators: parsed.get(operatorResource.name) as OperatorRecord[],
    events: parsed.get(eventResource.name) as EventRecord[],
    nextSiteId: lastSiteId + 1,
  };
  return { system, head, size: rows.length };
}

/** Parses records only when they're used. */
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
