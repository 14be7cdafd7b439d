// Sandboxes with other records than a copy of the live site's, so that a test recognizes where a record comes from.

import type { Engine } from "../../../src/model/engine.ts";
import { key as keyResource } from "../../../src/resources/key.ts";
import { site as siteResource } from "../../../src/resources/site.ts";
import {
  commitSystemChanges,
  toCreateIntent,
  toDeleteIntent,
  toUpdateIntent,
} from "../../../src/system/system-changes.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import { createBrand } from "./intents.ts";

/**
 * Publishes a new sandbox of `live`, as making and renewing it do: a new site, which gets the keys of the former sandbox. Does not delete the rows of
 * the former sandbox, so that a test sees the moment before that.
 * @param brands the names of its records
 */
export async function publishSandbox(
  engine: Engine,
  live: Pick<SiteRecord, "ID" | "Name">,
  at: number,
  brands: readonly string[] = [],
): Promise<SiteRecord> {
  const values = { Name: "in-the-making", SandboxOf: String(live.ID), Importing: new Date(at).toISOString() };
  const [made = ""] = await commitSystemChanges(engine, ({ nextSiteId }) => [
    toCreateIntent(siteResource, values, at, nextSiteId),
  ]);
  const site: SiteRecord = JSON.parse(made);
  if (brands.length > 0) await engine.commit(brands.map((name) => createBrand(site.ID, name)));
  const [published = ""] = await commitSystemChanges(engine, ({ sites, keys }) => {
    const former = sites.find(({ SandboxOf, ID }) => SandboxOf === String(live.ID) && ID !== site.ID);
    const name = sites.find(({ ID }) => ID === live.ID)?.Name;
    const moved = keys.filter(({ Site }) => former && Number(Site) === former.ID);
    return [
      toUpdateIntent(siteResource, site.ID, { Name: `${name}-sandbox`, Importing: "" }, at),
      ...moved.map(({ ID }) => toUpdateIntent(keyResource, ID, { Site: String(site.ID) }, at)),
      ...(former ? [toDeleteIntent(siteResource, former.ID, at)] : []),
    ];
  });
  return JSON.parse(published);
}
