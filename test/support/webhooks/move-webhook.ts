// One of several processes that move the cursor of site 1's webhook 1 by compare-and-set at the same time. Prints the moves that succeeded. Arguments: the
// database, and the number of the last move for all processes.

import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";

const [url = "", last = ""] = process.argv.slice(2);
const engine = await openEngine(url, allResources);
const made: number[] = [];
for (;;) {
  const [state] = await engine.readWebhookStates();
  const cursor = state?.cursor ?? "";
  const next = Number(cursor) + 1;
  if (next > Number(last)) break;
  const isMoved = await engine.compareAndSetWebhook(
    { site: 1, webhook: 1 },
    { cursor, rewinds: 0, resumes: 0 },
    { cursor: `${next}` },
  );
  if (isMoved) made.push(next);
}
console.log(JSON.stringify(made));
await engine.close();
process.exit();
