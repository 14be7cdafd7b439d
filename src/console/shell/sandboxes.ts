// Which shop is the sandbox of which, in the list of the shops that the operator may manage.

import type { SiteInfo } from "../../admin/api/types.ts";

/** Returns the live site of a sandbox; undefined if `site` is not a sandbox. */
export function findLive(sites: readonly SiteInfo[], site: SiteInfo): SiteInfo | undefined {
  return sites.find(({ id }) => id === site.sandboxOf);
}

/** Returns the sandbox of a live site; undefined if it has none, or its first copy is still being made. */
export function findSandboxOf(sites: readonly SiteInfo[], live: SiteInfo): SiteInfo | undefined {
  return sites.find(({ sandboxOf, importing }) => sandboxOf === live.id && importing === null);
}
