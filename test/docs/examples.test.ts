// Runs every example of the guide, and compares its output with the page: each page alone, and the whole guide as a reader runs it, from its first
// page to its last.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicResources } from "../../src/model/resource.ts";
import { guide, problems } from "../../src/reference/pages/guide.ts";
import { allResources } from "../../src/resources/all.ts";
import { difference, type Example, examplesIn, languagesIn } from "../support/markdown-examples.ts";
import { type DemoServer, type LocalDemoServer, startDemo } from "../support/programs/demo-server.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-examples-"));
const mark = "-----next-example-----";
const moduleEnd = "-----end-of-module-----";
const runModules = join(import.meta.dir, "../support/programs/run-modules.mjs");
const languages = ["sh", "js", "python"] as const;

beforeAll(() => {
  const target = join(project, "node_modules/@storefront-server/client");
  const built = Bun.spawnSync(["node", "bin/bun.js", "scripts/build-client.ts", target], { cwd: root });
  expect(built.exitCode).toBe(0);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("every example has the output on its page", () => {
  const client = readFileSync(join(root, "src/client/README.md"), "utf8");
  const pages = { ...guide, "the client's own page": client };
  for (const [name, text] of Object.entries(pages)) {
    for (const language of languagesIn(text)) {
      const examples = examplesIn(text, language);
      if (examples.length === 0) continue;
      test(`${name} (${examples.length}) in ${language}`, async () => {
        const server = await startDemo();
        try {
          await expectOutputs(examples, server);
        } finally {
          await server.stop();
        }
      });
    }
  }

  test("a page that lets its readers choose has curl, JavaScript and Python at every choice", () => {
    const offered = Object.values(guide).map((text) => languagesIn(text));
    expect(offered.filter((choice) => choice.length > 1).length).toBeGreaterThan(2);
    for (const choice of offered) if (choice.length > 1) expect(choice).toEqual([...languages]);
  });
});

describe("the whole guide, in the order of its pages, on one server", () => {
  let server: LocalDemoServer;
  beforeAll(async () => {
    server = await startDemo();
  });
  afterAll(() => server.stop());

  for (const language of languages) {
    // One run is with a sandbox key: then not even the revision of the live site changes.
    const isSandboxed = language === "python";
    const result = isSandboxed ? "nothing has changed" : "the records are as before";
    test(`in ${language}, every example has its output, and ${result}`, async () => {
      const key = isSandboxed ? await server.openSandbox() : server.key;
      const before = [await readLists(server), isSandboxed && (await readCursor(server))];
      const examples = Object.values(guide)
        .flatMap((text) => examplesIn(text, language))
        .filter((example) => example.language === language || example.language === "sh");
      expect(examples.filter((example) => example.language === language).length).toBeGreaterThan(9);
      await expectOutputs(examples, { ...server, key });
      expect([await readLists(server), isSandboxed && (await readCursor(server))]).toEqual(before);
    });
  }

  test("each example of the pages about problems has its output, too, and the records are as before", async () => {
    const before = await readLists(server);
    await expectOutputs(
      Object.values(problems).flatMap((text) => examplesIn(text)),
      server,
    );
    expect(await readLists(server)).toEqual(before);
  });
});

function readLists(server: DemoServer): Promise<string[]> {
  return Promise.all(publicResources(allResources).map(({ path }) => read(server, `${path}.json`)));
}

/** The cursor of the last change. */
function readCursor(server: DemoServer): Promise<string> {
  return read(server, "changes.json?since=now");
}

async function read({ url, key }: DemoServer, path: string): Promise<string> {
  return (await fetch(`${url}/restapi/${path}`, { headers: { "X-API-AUTH": key } })).text();
}

async function expectOutputs(examples: readonly Example[], { url, key }: DemoServer): Promise<void> {
  const outputs = await run(examples, url, key);
  for (const [index, example] of examples.entries()) expectOutput(example, outputs[index] ?? "");
}

function expectOutput({ code, expected }: Example, output: string): void {
  if (!expected) throw new Error(`the page has no output for\n${code}`);
  const wrong = difference(expected, output);
  if (wrong !== undefined) throw new Error(`${code}\nshould give\n${expected.text}\nand gives\n${wrong}`);
}

/**
 * The output of each example. They run in one shell, as if pasted one after another. The JavaScript examples are modules, and one process of Node.js
 * runs them.
 */
async function run(examples: readonly Example[], url: string, key: string): Promise<string[]> {
  const folder = mkdtempSync(join(project, "examples-"));
  const atServer = (text: string) => text.replaceAll("http://127.0.0.1:8080", url);
  const commands = examples.map((example, index) => {
    const module = join(folder, `${index}.mjs`);
    if (example.language === "js") writeFileSync(module, atServer(toModule(example)));
    return atServer(toShell(example, module));
  });
  const isWithNode = examples.some(({ language }) => language === "js");
  const starts = ['curl() { command curl -s "$@"; }', isWithNode ? nodeIn(folder) : ""].join("\n");
  const running = Bun.spawn(["bash", "-c", [starts, ...commands].join(`\necho; echo ${mark}\n`)], {
    cwd: project,
    env: { ...process.env, KEY: key, NO_COLOR: "1" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  await running.exited;
  const [, ...outputs] = output.split(`\n${mark}\n`);
  return outputs.map((text) => (text.trim() === "" ? complaint : text));
}

/** The commands that start Node.js, and a function `run_module` that lets it run a module. Pipes with names are in every version of Bash. */
function nodeIn(folder: string): string {
  return `mkfifo ${folder}/in ${folder}/out
node ${runModules} ${moduleEnd} < ${folder}/in > ${folder}/out &
exec 3> ${folder}/in 4< ${folder}/out
run_module() {
  echo "$1" >&3
  while IFS= read -r line <&4 && [ "$line" != ${moduleEnd} ]; do printf '%s\\n' "$line"; done
}`;
}

// A page shows one output for all languages: the value, not how a language prints it.
const isValue = ({ expected }: Example) => expected?.language === "json";

function toShell(example: Example, module: string): string {
  const { language, code } = example;
  if (language === "js") return `run_module ${module}`;
  if (language === "python") return `python3 - <<'END'\n${isValue(example) ? printJsonInPython : ""}${code}\nEND`;
  return code;
}

function toModule(example: Example): string {
  return (isValue(example) ? printJsonInJs : "") + example.code;
}

const printJsonInJs = "const { log } = console;\nconsole.log = (value) => log(JSON.stringify(value));\n";
const printJsonInPython = "import json\nshow = print\ndef print(value): show(json.dumps(value))\n";
