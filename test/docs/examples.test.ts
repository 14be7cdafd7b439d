// Runs every example on every page of the guide, in order, and compares its output with the page.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guide, problems } from "../../src/reference/pages/sources.ts";
import { startDemo } from "../support/demo-server.ts";
import { difference, type Example, examplesIn } from "../support/markdown-examples.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-examples-"));
const mark = "-----next-example-----";

beforeAll(() => {
  const target = join(project, "node_modules/@storefront-server/client");
  const built = Bun.spawnSync(["node", "bin/bun.js", "scripts/build-client.ts", target], { cwd: root });
  expect(built.exitCode).toBe(0);
}, 30_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("every example has the output on its page", () => {
  const client = readFileSync(join(root, "src/client/README.md"), "utf8");
  const pages = { ...guide, ...problems, "the client's own page": client };
  for (const [name, text] of Object.entries(pages)) {
    const examples = examplesIn(text);
    if (examples.length === 0) continue;
    test(`${name} (${examples.length})`, async () => {
      const server = await startDemo();
      try {
        const outputs = await run(examples, server.url, server.key);
        examples.forEach((example, index) => {
          if (!example.expected) throw new Error(`the page has no output for\n${example.code}`);
          const wrong = difference(example.expected, outputs[index] ?? "");
          if (wrong !== undefined)
            throw new Error(`${example.code}\nshould give\n${example.expected.text}\nand gives\n${wrong}`);
        });
      } finally {
        await server.stop();
      }
    });
  }
});

/** The output of each example. They run in one shell, as if pasted one after another. */
async function run(examples: readonly Example[], url: string, key: string): Promise<string[]> {
  const script = ['curl() { command curl -s "$@"; }', ...examples.map(toShell)].join(`\necho; echo ${mark}\n`);
  const running = Bun.spawn(["bash", "-c", script.replaceAll("http://127.0.0.1:8080", url)], {
    cwd: project,
    env: { ...process.env, KEY: key, NO_COLOR: "1" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  await running.exited;
  const [, ...outputs] = output.split(`\n${mark}\n`);
  return outputs.map((text) => text || complaint);
}

function toShell({ language, code }: Example): string {
  if (language === "js") return `node --input-type=module <<'END'\n${code}\nEND`;
  if (language === "python") return `python3 - <<'END'\n${code}\nEND`;
  return code;
}
