// The script of the console, made once for the whole run: each file would take a second to make it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fromBrotli, loadScript } from "../../../src/admin/console.ts";
import { once } from "../../../src/lib/concurrency.ts";
import { newPart, putInPlace } from "../made-once.ts";

/** The variable with a folder that is there as long as the run (scripts/run-tests.ts). */
export const runFolder = "TEST_RUN_FOLDER";

/** Returns the script of the console, for tests that are not about its build. The first test file of a run that needs the script builds it. */
export const sharedScript: typeof loadScript = once(async () => {
  const folder = process.env[runFolder];
  if (folder === undefined) return loadScript();
  const whole = join(folder, "console");
  if (!existsSync(whole)) await makeIn(whole);
  const read = (name: string) => Bun.file(join(whole, name));
  const fileOf = async (name: string) => fromBrotli(await read(name).bytes());
  return {
    file: await fileOf("brotli"),
    workbookFile: await fileOf("workbook"),
    notices: await read("notices").text(),
  };
});

async function makeIn(whole: string): Promise<void> {
  const { file, workbookFile, notices } = await loadScript();
  const part = newPart(whole);
  const contents = { brotli: await file.bytes("br"), workbook: await workbookFile.bytes("br"), notices };
  for (const [name, content] of Object.entries(contents)) await Bun.write(join(part, name), content);
  putInPlace(part, whole);
}
