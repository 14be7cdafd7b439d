// The test tools on a machine that has never run them, with an empty temporary folder.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const support = join(import.meta.dir, "..", "support");
let folder: string;
beforeEach(() => {
  // Nobody else may enter it.
  folder = mkdtempSync(join(tmpdir(), "storefront-fresh-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(code: string): Promise<string> {
  const env = { ...process.env, TMPDIR: folder };
  const child = Bun.spawn([process.execPath, "-e", code], { cwd: support, env, stdout: "pipe", stderr: "pipe" });
  const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return output + complaint;
}

test("browser download: several processes that open it at once share one copy", async () => {
  const code = `
    import { openBrowser } from "./console/browser.ts";
    const browser = await openBrowser();
    console.log((await browser.newPage()).url());
    await browser.close();`;
  const opened = await Promise.all([run(code), run(code)]);
  expect(opened).toEqual(["about:blank\n", "about:blank\n"]);
  expect([...new Bun.Glob("storefront-browser-*/chromium").scanSync(folder)]).toHaveLength(1);
});

test("PostgreSQL starts even if only its owner may enter the temporary folder", async () => {
  const code = `
    import { startPostgres } from "./postgres/server.ts";
    const server = await startPostgres({ isDurable: true });
    console.log((await server.run("select 1 as one"))[0].one);
    await server.remove();`;
  expect(await run(code)).toBe("1\n");
});
