import type { MaybePromise } from "../lib/maybe-promise.ts";
import { createPace } from "../lib/pace.ts";
import type { Engine, Head, RecordRow, SiteContents } from "../model/engine.ts";

/** A site's rows, those of a resource together and in ID order, as of `head`. */
export interface LoadedSite {
  readonly head: Head;
  readonly rows: readonly RecordRow[];
}

/** All rows of a site at once: for what is small, or belongs to a command. */
export function loadSite(engine: Pick<Engine, "readSite">, site: number, minHead?: Head): MaybePromise<LoadedSite> {
  return engine.readSite(site, async ({ head, portions }) => ({ head, rows: await gather(portions) }), minHead);
}

async function gather(portions: SiteContents["portions"]): Promise<RecordRow[]> {
  const rows: RecordRow[] = [];
  const pace = createPace();
  for await (const portion of portions) {
    rows.push(...portion);
    await pace();
  }
  return rows;
}
