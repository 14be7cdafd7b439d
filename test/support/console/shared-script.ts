// Builds the console's script once for the whole run, because it would take every file a second.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fromBrotli, loadScript } from "../../../src/admin/console.ts";
import { once } from "../../../src/lib/concurrency.ts";
import { newPart, putInPlace } from "../made-once.ts";

/** Variable with a folder that exists for the whole run (scripts/run-tests.ts). */
export const runFolder = "TEST_RUN_FOLDER";

/** For tests that aren't about the build. The run's first test file that needs the script builds it. */
export const sharedScript: typeof loadScript = once(async () => {
  const folder = process.env[runFolder];
  if (folder === undefined) return loadScript();
  const whole = join(folder, "console");
  if (!existsSync(whole)) await makeIn(whole);
  const read = (name: string) => Bun.file(join(whole, name));
  return { file: fromBrotli(await read("brotli").bytes()), notices: await read("notices").text() };
});

async function makeIn(whole: string): Promise<void> {
  const { file, notices } = await loadScript();
  const part = newPart(whole);
  const contents = { brotli: await file.bytes("br"), notices };
  for (const [name, content] of Object.entries(contents)) await Bun.write(join(part, name), content);
  putInPlace(part, whole);
}
