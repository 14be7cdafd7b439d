import { createKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { openEngine } from "../../src/store/open.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import { sampleBrands } from "../scenarios.ts";

/** The database of a run, with two sites: clients wait for changes of `followed.test`, but not of `other.test`. */
export interface FollowedSites {
  readonly database: string;
  /** Several keys of each site, because one key may use only half of the connections for long polls. */
  readonly keys: Readonly<Record<"followed" | "other", readonly string[]>>;
}

const keysOfSite = 4;
const webhooksOfSite = 20;

/**
 * Fills an empty database.
 * @param webhooks the number of webhooks, 20 per site: of the site `followed`, and of further sites without writes
 * @param receiver the URL of all webhooks
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
