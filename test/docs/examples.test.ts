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
const fileEnd = "-----end-of-file-----";
const languages = ["sh", "js", "python"] as const;
const programs = join(import.meta.dir, "../support/programs");
/** For each language other than the shell, the command that runs its examples in one process, and the ending of the files with the examples. */
const runners = {
  js: { command: `node ${join(programs, "run-modules.mjs")}`, ending: ".mjs" },
  python: { command: `python3 ${join(programs, "run-modules.py")}`, ending: ".py" },
};

beforeAll(() => {
  const target = join(project, "node_modules/@storefront-server/client");
  const built = Bun.spawnSync(["node", "bin/bun.js", "scripts/build/client.ts", target], { cwd: root });
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
        .flatMap((text) => examplesIn(withShorterFile(text), language))
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

/** A page whose file of 10,000 lines has 1,000: the test of the page alone has all. */
function withShorterFile(page: string): string {
  return page.replaceAll(/\b10000\b/g, "1000").replaceAll(/\b9999\b/g, "999");
}

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
 * The output of each example. They run in one shell, as if pasted one after another. One process of Node.js runs the examples in JavaScript, and one of
 * Python those in Python, because a start takes longer than most examples.
 */
async function run(examples: readonly Example[], url: string, key: string): Promise<string[]> {
  const folder = mkdtempSync(join(project, "examples-"));
  const commands = examples.map(({ language, code, expected }, index) => {
    const own = code.replaceAll("http://127.0.0.1:8080", url);
    if (language === "sh") return own;
    const file = join(folder, `${index}${runners[language].ending}`);
    // A page shows one output for all languages: the value, not how a language prints it.
    writeFileSync(file, (expected?.language === "json" ? printJson[language] : "") + own);
    return `run_${language} ${file}`;
  });
  const used = (["js", "python"] as const).filter((each) => examples.some(({ language }) => language === each));
  const starts = ['curl() { command curl -s "$@"; }', ...used.map((language) => startIn(folder, language))].join("\n");
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

/** The commands that start the process of a language, and a function that lets it run a file. Pipes with names are in every version of Bash. */
function startIn(folder: string, language: keyof typeof runners): string {
  const pipes = join(folder, language);
  const [input, output] = language === "js" ? [3, 4] : [5, 6];
  return `mkfifo ${pipes}-in ${pipes}-out
${runners[language].command} ${fileEnd} < ${pipes}-in > ${pipes}-out &
exec ${input}> ${pipes}-in ${output}< ${pipes}-out
run_${language}() {
  echo "$1" >&${input}
  while IFS= read -r line <&${output} && [ "$line" != ${fileEnd} ]; do printf '%s\\n' "$line"; done
}`;
}

/** Code before an example that lets it print a value as JSON. */
const printJson = {
  js: "const { log } = console;\nconsole.log = (value) => log(JSON.stringify(value));\n",
  python: "import json\nshow = print\ndef print(value): show(json.dumps(value))\n",
};
