// A run's database with two sites, and the requests that the loads send.

import { createKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { openEngine } from "../../src/store/open.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import { sampleBrand, sampleBrands } from "../scenarios.ts";

/** Clients wait for changes to `followed.test`, but not to `other.test`. */
export interface FollowedSites {
  readonly database: string;
  /** Several per site, because one key can only have half of the connections for long polls. */
  readonly keys: Readonly<Record<"followed" | "other", readonly string[]>>;
}

const keysOfSite = 4;
const webhooksOfSite = 20;

/**
 * Fills an empty database.
 * @param webhooks how many webhooks to add, 20 per site: first to `followed`, then to sites that nobody writes to
 * @param receiver the URL for all webhooks
 */
export async function fillSites(database: string, webhooks: number, receiver: string): Promise<FollowedSites> {
  const engine = await openEngine(database, allResources);
  const addTo = async (site: SiteRecord) => {
    const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
    const settings = { url: receiver, resources: [], since: "now" } as const;
    for (let i = 0; i < webhooksOfSite; i++) await createWebhook(engine, site, settings, policy, Date.now());
  };
  const add = async (name: string) => {
    const site = await createSite(engine, name, { hostnames: [`${name}.test`] }, Date.now());
    const common = {
      site: site.ID,
      resource: brand.name,
      operation: "create",
      actor: "bench",
      at: Date.now(),
    } as const;
    await engine.commit(
      sampleBrands(1000).map(({ ID: _, ...values }) => ({ ...common, valuesJson: JSON.stringify(values) })),
    );
    const keys = await Array.fromAsync({ length: keysOfSite }, () => createKey(engine, site, {}, Date.now()));
    return { site, keys: keys.map(({ key }) => key) };
  };
  try {
    const [followed, other] = [await add("followed"), await add("other")];
    for (let added = 0; added < webhooks; added += webhooksOfSite)
      await addTo(added === 0 ? followed.site : await createSite(engine, `quiet-${added}`, {}, Date.now()));
    return { database, keys: { followed: followed.keys, other: other.keys } };
  } finally {
    await engine.close();
  }
}

type SiteName = keyof FollowedSites["keys"];

export function lookUp(site: SiteName, sites: FollowedSites): Request {
  return { method: "GET", path: "/restapi/brands/500.json", headers: headersOf(site, sites) };
}

export function create(site: SiteName, sites: FollowedSites): Request {
  const body = JSON.stringify({ ...sampleBrand(1), Name: "[<id>]" });
  return { method: "POST", path: "/restapi/brands.json", headers: headersOf(site, sites), body };
}

/** @param name of the new brand @returns the number of failures: 0 or 1 */
export async function sendCreate(
  server: Measured,
  { method, path, headers, body }: Request,
  name: string,
): Promise<number> {
  const init = { method, headers, body: body?.replace("[<id>]", name) ?? "" };
  const response = await fetch(server.url + path, init);
  await response.arrayBuffer();
  return response.status === 201 ? 0 : 1;
}

function headersOf(site: SiteName, { keys }: FollowedSites): Record<string, string> {
  return { Host: `${site}.test`, "X-API-AUTH": keys[site][0] as string, "Accept-Encoding": "identity" };
}
