import { createYielder } from "../../lib/yielding.ts";
import type { Engine, RecordRow, SiteContents } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";

/** Rows as of `head`, grouped by resource, in ID order. */
export interface WholeSite {
  readonly head: Head;
  readonly rows: readonly RecordRow[];
}

/** Reads a whole site into memory. Only for small sites, and in commands. */
export function readAllRows(engine: Pick<Engine, "readSite">, site: number, requiredHead?: Head): Promise<WholeSite> {
  return engine.readSite(site, async ({ head, rowChunks }) => ({ head, rows: await gather(rowChunks) }), requiredHead);
}

async function gather(rowChunks: SiteContents["rowChunks"]): Promise<RecordRow[]> {
  const rows: RecordRow[] = [];
  const yieldIfDue = createYielder();
  for await (const chunk of rowChunks) {
    rows.push(...chunk);
    await yieldIfDue();
  }
  return rows;
}
