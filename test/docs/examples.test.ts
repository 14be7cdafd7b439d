// Runs the guide the way a reader would, from first page to last, once in each language, and compares the output with the pages.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicResources } from "../../src/model/resource.ts";
import { guide, problems } from "../../src/reference/pages/guide.ts";
import { allResources } from "../../src/resources/all.ts";
import { difference, type Example, examplesIn } from "../support/markdown-examples.ts";
import { type DemoServer, type LocalDemoServer, startDemo } from "../support/programs/demo-server.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-examples-"));
const mark = "-----next-example-----";
/** For each language except the shell, the command that runs an example file, and the file's extension. */
const runners = { js: { command: "node", ending: ".mjs" }, python: { command: "python3", ending: ".py" } };

beforeAll(() => {
  const target = join(project, "node_modules/storefront-client");
  const built = Bun.spawnSync(["node", "bin/bun.js", "scripts/build/client.ts", target], { cwd: root });
  expect(built.exitCode).toBe(0);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

let server: LocalDemoServer;
beforeAll(async () => {
  server = await startDemo();
});
afterAll(() => server.stop());

// One run uses a sandbox key, and then not even the live site's revision changes.
test.each([
  ["sh", false],
  ["js", false],
  ["python", true],
] as const)("in %s, every example has the output shown, and the records are the same afterwards", async (language, isSandboxed) => {
  const key = isSandboxed ? await server.openSandbox() : server.key;
  const before = [await readLists(server), isSandboxed && (await readCursor(server))];
  const { webhooks, ...pages } = guide;
  const examples = Object.values(pages).flatMap((text) =>
    examplesIn(language === "sh" ? text : withShorterFile(text), language),
  );
  await expectOutputs(examples.filter(isRunFor(language)), { ...server, key });
  expect([await readLists(server), isSandboxed && (await readCursor(server))]).toEqual(before);
});

test.each(["sh", "js"] as const)("in %s, every example about webhooks has the output shown", async (language) => {
  const own = await startDemo();
  const examples = examplesIn(guide.webhooks, language).filter(isRunFor(language));
  await expectOutputs(examples, { ...own, key: await own.issueWebhookKey() });
  await own.stop();
});

test("every example on the client's page has the output shown", async () => {
  const own = await startDemo();
  const examples = examplesIn(readFileSync(join(root, "src/client/README.md"), "utf8"), "js");
  await expectOutputs(examples, { ...own, key: await own.issueWebhookKey() });
  await own.stop();
});

test("every example on the problem pages has the output shown, and the records are the same afterwards", async () => {
  const before = await readLists(server);
  await expectOutputs(
    Object.values(problems).flatMap((text) => examplesIn(text)),
    server,
  );
  expect(await readLists(server)).toEqual(before);
});

function isRunFor(language: Example["language"]): (example: Example) => boolean {
  return (example) => example.language === language || example.language === "sh";
}

/** Where a page has a file of 10,000 lines, we use 1,000. */
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

/** The output of each example. They run in one shell, as if pasted one after another. */
async function run(examples: readonly Example[], url: string, key: string): Promise<string[]> {
  const folder = mkdtempSync(join(project, "examples-"));
  const commands = examples.map(({ language, code, expected }, index) => {
    const own = code.replaceAll("http://127.0.0.1:8080", url);
    if (language === "sh") return own;
    const file = join(folder, `${index}${runners[language].ending}`);
    // A page shows one output for all languages: the value, not the way a language prints it.
    writeFileSync(file, (expected?.language === "json" ? printJson[language] : "") + own);
    return `${runners[language].command} ${file}`;
  });
  const start = 'curl() { command curl -s "$@"; }';
  const running = Bun.spawn(["bash", "-c", [start, ...commands].join(`\necho; echo ${mark}\n`)], {
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

/** Code before an example that lets it print a value as JSON. */
const printJson = {
  js: "const { log } = console;\nconsole.log = (value) => log(JSON.stringify(value));\n",
  python: "import json\nshow = print\ndef print(value): show(json.dumps(value))\n",
};
