// Reads the feed's cursor after a site's last change.

import type { Engine } from "../../../src/model/engine.ts";
import type { Head } from "../../../src/model/head.ts";
import { readCursorAt } from "../../../src/store/changes/feed.ts";

/** @throws ProblemError like `readCursorAt` */
export async function readHeadCursor(
  engine: Pick<Engine, "readHeads" | "readJournalPage">,
  site: number,
): Promise<string> {
  const [head] = await engine.readHeads([site]);
  return readCursorAt(engine, site, head as Head);
}
