// A removed site keeps its row, with a special epoch. So its number is not used again, and a write that was under way does not
// create the site again.

import { siteResourceName, systemSite } from "../model/system-site.ts";
import { primaryKeyOf, tableNames } from "./tables.ts";

/** The epoch of a removed site. No site with a history has it. */
export const removedEpoch = "";

/** The tables with the rows of a site, besides `sites` itself. */
export const siteTables = tableNames.filter((table) => primaryKeyOf(table)[0] === "site_id");

/** A statement for every engine: returns a row if the record of this site is a deleted one. After a restore it may exist again, or never have existed. */
export function selectDeleted(site: string): string {
  return `select 1 from records where site_id = ${systemSite} and resource = '${siteResourceName}' and id = ${site} and body is null`;
}

const leftovers = siteTables.map((table) => `exists (select 1 from ${table} as l where l.site_id = gone.id)`);

/** A statement for every engine: the sites whose record was deleted and that still have rows. */
export const selectUndropped = `select gone.id from records as gone
where gone.site_id = ${systemSite} and gone.resource = '${siteResourceName}' and gone.body is null and (
  exists (select 1 from sites where sites.id = gone.id and sites.epoch <> '${removedEpoch}')
  or ${leftovers.join("\n  or ")}
) order by gone.id`;
