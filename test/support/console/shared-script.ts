// Builds the console's scripts once for the whole run, because it would take every file a second.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadScript, quickQuality, unpackConsole } from "../../../src/admin/console.ts";
import { buildConsole, packConsole } from "../../../src/admin/console-build.ts";
import { once } from "../../../src/lib/concurrency.ts";
import { newPart, putInPlace } from "../made-once.ts";

/** Variable with a folder that exists for the whole run (scripts/run-tests.ts). */
export const runFolder = "TEST_RUN_FOLDER";

/** For tests that aren't about the build. The run's first test file that needs the scripts builds them. */
export const sharedScript: typeof loadScript = once(async () => {
  const folder = process.env[runFolder];
  if (folder === undefined) return loadScript();
  const whole = join(folder, "console");
  if (!existsSync(whole)) await makeIn(whole);
  return unpackConsole(await Bun.file(join(whole, "packed")).json());
});

async function makeIn(whole: string): Promise<void> {
  const part = newPart(whole);
  await Bun.write(join(part, "packed"), JSON.stringify(await packConsole(await buildConsole(), quickQuality)));
  putInPlace(part, whole);
}
