import { after } from "../lib/maybe-promise.ts";
import type { Engine, RecordCounts, SiteContents } from "../model/engine.ts";
import { servedOf } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { withChange } from "../store/record-counts.ts";
import { listKeys } from "./keys.ts";
import { findSite, type SiteRecord } from "./sites.ts";
import { listWebhooks } from "./webhook-list.ts";

/** What an operator wants to know of a site at a glance. */
interface SiteSummary {
  readonly site: SiteRecord;
  /** Keys that requests may use now. */
  readonly validKeys: number;
  /** All keys, including revoked and expired ones. */
  readonly keys: number;
  readonly webhooks: number;
  /** The number of records of each resource, by its path. */
  readonly records: Readonly<Record<string, number>>;
  /** The number of changes so far. */
  readonly revision: number;
  /** When the last change was made; undefined when there is none or its entry was pruned. */
  readonly changed: Date | undefined;
}

/** Takes time that grows with the number of records only if their number is not stored. @throws Refusal `not-found` */
export async function summarizeSite(engine: Engine, name: string, now: number): Promise<SiteSummary> {
  const site = await findSite(engine, name);
  const keys = await listKeys(engine, site);
  const { revision, counts } = await engine.readSite(site.ID, ({ head, counts, portions }) =>
    after(counts ?? countRecords(portions), (known) => ({ revision: head.revision, counts: known })),
  );
  const [last] = (revision > 0 && (await engine.since(site.ID, revision - 1, { limit: 1 }))) || [];
  return {
    site,
    validKeys: keys.filter(({ endsAt }) => now < endsAt).length,
    keys: keys.length,
    webhooks: (await listWebhooks(engine, site)).length,
    records: Object.fromEntries(servedOf(allResources).map(({ name, path }) => [path, counts[name]?.count ?? 0])),
    revision,
    changed: last && new Date(last.at),
  };
}

async function countRecords(portions: SiteContents["portions"]): Promise<RecordCounts> {
  let counts: RecordCounts = {};
  for await (const rows of portions)
    for (const { resource, revision, body } of rows)
      if (body !== null) counts = withChange(counts, { resource, revision, difference: 1 }) as RecordCounts;
  return counts;
}
