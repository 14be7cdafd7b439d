// Runs every example on every page of the guide, in order, and compares its output with the page.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guide, problems } from "../../src/reference/pages/guide.ts";
import { difference, type Example, examplesIn, languagesIn } from "../support/markdown-examples.ts";
import { startDemo } from "../support/programs/demo-server.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-examples-"));
const mark = "-----next-example-----";

beforeAll(() => {
  const target = join(project, "node_modules/@storefront-server/client");
  const built = Bun.spawnSync(["node", "bin/bun.js", "scripts/build-client.ts", target], { cwd: root });
  expect(built.exitCode).toBe(0);
}, 60_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("every example has the output on its page", () => {
  const client = readFileSync(join(root, "src/client/README.md"), "utf8");
  const pages = { ...guide, ...problems, "the client's own page": client };
  for (const [name, text] of Object.entries(pages)) {
    for (const language of languagesIn(text)) {
      const examples = examplesIn(text, language);
      if (examples.length === 0) continue;
      test(`${name} (${examples.length}) in ${language}`, async () => {
        const server = await startDemo();
        try {
          const outputs = await run(examples, server.url, server.key);
          for (const [index, example] of examples.entries()) expectOutput(example, outputs[index] ?? "");
        } finally {
          await server.stop();
        }
      });
    }
  }

  test("a page that lets its readers choose has curl, JavaScript and Python at every choice", () => {
    const offered = Object.values(guide).map((text) => languagesIn(text));
    expect(offered.filter((languages) => languages.length > 1).length).toBeGreaterThan(2);
    for (const languages of offered) if (languages.length > 1) expect(languages).toEqual(["sh", "js", "python"]);
  });
});

function expectOutput({ code, expected }: Example, output: string): void {
  if (!expected) throw new Error(`the page has no output for\n${code}`);
  const wrong = difference(expected, output);
  if (wrong !== undefined) throw new Error(`${code}\nshould give\n${expected.text}\nand gives\n${wrong}`);
}

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

function toShell({ language, code, expected }: Example): string {
  // A page shows one output for all languages: the value, not how a language prints it.
  const isValue = expected?.language === "json";
  if (language === "js") return `node --input-type=module <<'END'\n${isValue ? printJsonInJs : ""}${code}\nEND`;
  if (language === "python") return `python3 - <<'END'\n${isValue ? printJsonInPython : ""}${code}\nEND`;
  return code;
}

const printJsonInJs = "const { log } = console;\nconsole.log = (value) => log(JSON.stringify(value));\n";
const printJsonInPython = "import json\nshow = print\ndef print(value): show(json.dumps(value))\n";
