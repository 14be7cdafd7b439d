// What stays of a site that was removed: its row, under an epoch of its own. So its number is not used again, and no write that
// was under way makes it anew.

import { siteResourceName, systemSite } from "../model/system-site.ts";
import { keyOf, tableNames } from "./tables.ts";

/** The epoch of a site that was removed: that of a site without a history. */
export const removedEpoch = "";

/** The tables that hold what belongs to a site, besides its own row. */
export const siteTables = tableNames.filter((table) => keyOf(table)[0] === "site_id");

/** A statement of every engine: a row if the record of this site was deleted. A restore may have brought it back, or know nothing of it. */
export function selectDeleted(site: string): string {
  return `select 1 from records where site_id = ${systemSite} and resource = '${siteResourceName}' and id = ${site} and body is null`;
}

const leftovers = siteTables.map((table) => `exists (select 1 from ${table} as l where l.site_id = gone.id)`);

/** A statement of every engine: the sites whose record was deleted, and of which something is left. */
export const selectUndropped = `select gone.id from records as gone
where gone.site_id = ${systemSite} and gone.resource = '${siteResourceName}' and gone.body is null and (
  exists (select 1 from sites where sites.id = gone.id and sites.epoch <> '${removedEpoch}')
  or ${leftovers.join("\n  or ")}
) order by gone.id`;
