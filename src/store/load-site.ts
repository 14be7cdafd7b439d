import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import type { Engine, Head, RecordRow, SiteContents } from "../model/engine.ts";

/** A site's rows, those of a resource together and in ID order, as of `head`. */
export interface LoadedSite {
  readonly head: Head;
  readonly rows: readonly RecordRow[];
}

/** All rows of a site at once: for what is small, or belongs to a command. */
export function loadSite(engine: Pick<Engine, "readSite">, site: number, minHead?: Head): MaybePromise<LoadedSite> {
  return engine.readSite(site, ({ head, portions }) => after(gather(portions), (rows) => ({ head, rows })), minHead);
}

function gather(portions: SiteContents["portions"]): MaybePromise<RecordRow[]> {
  return Symbol.asyncIterator in portions ? Array.fromAsync(portions).then((all) => all.flat()) : [...portions].flat();
}
