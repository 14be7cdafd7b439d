// The script of the console, made once for the whole run: each file would take a second to make it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type ConsoleScript, loadScript } from "../../src/admin/console.ts";
import { once } from "../../src/lib/concurrency.ts";
import { newPart, putInPlace } from "./made-once.ts";

/** The variable with a folder that is there as long as the run (scripts/run-tests.ts). */
export const runFolder = "TEST_RUN_FOLDER";

/** For tests that are not about how the script is made: what the first file of the run that asked for it has made, or this one if there is no run. */
export const sharedScript: typeof loadScript = once(async () => {
  const folder = process.env[runFolder];
  if (folder === undefined) return loadScript();
  const whole = join(folder, "console");
  if (!existsSync(whole)) await makeIn(whole);
  const read = (name: string) => Bun.file(join(whole, name));
  const plain = once(() => read("plain").bytes());
  return {
    digest: await read("digest").text(),
    plain,
    gzip: once(async () => promisify(gzip)(await plain())),
    brotli: once(() => read("brotli").bytes()),
    notices: await read("notices").text(),
  };
});

async function makeIn(whole: string): Promise<void> {
  const script: ConsoleScript = await loadScript();
  const part = newPart(whole);
  const contents = {
    digest: script.digest,
    plain: await script.plain(),
    brotli: await script.brotli(),
    notices: script.notices,
  };
  for (const [name, content] of Object.entries(contents)) await Bun.write(join(part, name), content);
  putInPlace(part, whole);
}
