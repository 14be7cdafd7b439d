import { OutdatedError } from "../../../src/model/errors.ts";
import { Snapshot } from "../../../src/store/memory/snapshot.ts";
import type { SiteViews } from "../../../src/store/reads/site-views.ts";

/** Returns an up-to-date snapshot of `site`, as a request for a whole list would: loads it if it isn't in memory, and retries if the database is behind. */
export async function loadUpToDate(siteViews: SiteViews, site: number, attempts = 3): Promise<Snapshot> {
  try {
    const loaded = await siteViews.getUpToDate(site);
    return loaded instanceof Snapshot ? loaded : await loaded.loadSnapshot();
  } catch (error) {
    if (!(error instanceof OutdatedError) || attempts === 1) throw error;
    return loadUpToDate(siteViews, site, attempts - 1);
  }
}
