import { OutdatedError } from "../../src/model/errors.ts";
import { Snapshot } from "../../src/store/memory/snapshot.ts";
import type { SiteViews } from "../../src/store/reads/site-views.ts";

/** The snapshot of `site`, as new as the store; loaded where it is not in memory, and tried again as for a whole list. */
export async function loadFresh(siteViews: SiteViews, site: number, attempts = 3): Promise<Snapshot> {
  try {
    const fresh = await siteViews.getUpToDate(site);
    return fresh instanceof Snapshot ? fresh : await fresh.loadSnapshot();
  } catch (error) {
    if (!(error instanceof OutdatedError) || attempts === 1) throw error;
    return loadFresh(siteViews, site, attempts - 1);
  }
}
