// Compares the program with `golden/promises.txt`, which has what docs/compatibility.md promises, as of the last release. Additions pass. What's gone fails, and so
// does anything new that a request or a command line needs. Run with UPDATE_GOLDEN=1 to rewrite the file.
//
// Each of its lines is about one part, such as a command, and lists facts about it, such as its options.

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { processFamilies } from "../src/commands/processes/worker-metrics.ts";
import { createProgram } from "../src/commands/program.ts";
import { toMetricsText } from "../src/lib/metrics.ts";
import { makeSandbox } from "../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../src/operator/sites/keys.ts";
import { startTestServer } from "./support/http/server.ts";
import { openWorkspace } from "./support/programs/command.ts";
import { startReceiver } from "./support/webhooks/receiver.ts";

// biome-ignore lint/suspicious/noExplicitAny: any JSON
type Json = any;
type Facts = ReadonlyMap<string, ReadonlySet<string>>;

const root = join(import.meta.dir, "..");
const golden = join(root, "test/golden/promises.txt");
const document: Json = JSON.parse(readFileSync(join(root, "docs/openapi.json"), "utf8"));

const server = await startTestServer();
const receiver = await startReceiver();
const workspace = openWorkspace();
afterAll(() => Promise.all([server.stop(), receiver.stop(), workspace.close()]));

test("everything that the last release promised is still there", async () => {
  const commands = commandFacts(await createProgram(undefined), "command");
  const facts = new Map([...interfaceFacts(document), ...commands]);
  // If an option is gone, the commands below would fail.
  if (!process.env.UPDATE_GOLDEN) requirePromised(facts);
  for (const [part, words] of [...(await outputFacts(commands)), ...(await metricFacts())]) facts.set(part, words);
  if (process.env.UPDATE_GOLDEN)
    await Bun.write(golden, [...facts].map(([part, words]) => `${part}: ${[...words].join(" ")}\n`).join(""));
  requirePromised(facts);
});

/** @throws Error if a part of `facts` breaks what the golden file promises */
function requirePromised(facts: Facts): void {
  const lines = readFileSync(golden, "utf8").trim().split("\n");
  const promised = lines.map((line) => line.split(": ")).map(([part = "", words = ""]) => [part, words] as const);
  const faults = findBreaks(
    new Map(promised.map(([part, words]) => [part, new Set(words.split(" ").filter(Boolean))])),
    facts,
  );
  if (faults.length > 0)
    throw new Error(`${faults.join("\n")}

Users may depend on this. Keep it and deprecate it, as docs/compatibility.md says. If it can go (in a new major version, or because no release had it), run
UPDATE_GOLDEN=1 npm test test/compatibility.test.ts`);
}

const needed = { name: "x", in: "query", required: true };

/** Where to change a copy of the OpenAPI document, the new value (undefined removes the old one), and the faults to find. */
const changes: [at: string, value: Json, ...faults: string[]][] = [
  ["paths /restapi/undo.json post", undefined, "post is gone"],
  ["paths /restapi/key.xml get responses 200", undefined, "200 is gone"],
  ["components schemas Brand properties Name", undefined, "Name is gone"],
  ["components schemas Brand required 1", undefined, "required=Name is gone"],
  ["components schemas Brand properties Name type", ["string", "null"], "type=null is new"],
  ["components schemas Problem properties type enum 9", undefined, "enum=/docs/problems/conflict is gone"],
  ["components schemas NewBrand required 1", "Address", "required=Address is new"],
  ["components schemas NewBrand properties Name maxLength", 254, "maxLength=255 is gone"],
  ["components schemas NewBrand properties Name pattern", "^A", "pattern=^A is new"],
  ["paths /restapi/key.json get parameters", [needed], "required=true is new"],
  ["components parameters limit required", true, "required=true is new"],
  ["paths /restapi/key.json get parameters", [{ name: "x", in: "query" }]],
  ["paths /restapi/new.json", { get: { parameters: [needed] } }],
  ["components schemas Brand properties Logo", { type: "string" }],
  ["components schemas Problem properties type enum 99", "/docs/problems/new"],
  ["components schemas NewBrand required", undefined],
  ["components schemas NewBrand properties Name maxLength", 256],
  ["components schemas NewBrand properties Name description", "Anything."],
];

test.each(changes)("a change of the interface: %s becomes %j", (at, value, ...faults) => {
  const changed = structuredClone(document);
  const path = at.split(" ");
  const last = path.pop() as string;
  const parent = path.reduce((node, key) => node[key], changed);
  if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  const found = findBreaks(interfaceFacts(document), interfaceFacts(changed));
  expect(found.map((one) => one.split(": ")[1] as string)).toEqual(faults);
});

/** Returns what `now` lacks, and what it needs that `old` didn't. */
function findBreaks(old: Facts, now: Facts): string[] {
  const gone = [...old].flatMap(([part, words]) => {
    const current = now.get(part);
    // If the part itself is gone, the part it's in has lost a word.
    const lost = current ? [...words].filter((word) => !current.has(word) && !isLoosened(part, word, current)) : [];
    return lost.map((word) => `${part}: ${word} is gone`);
  });
  const added = [...now].flatMap(([part, words]) => {
    const operation = /^paths \S+ \S+/.exec(part)?.[0] ?? part;
    const before = old.get(part) ?? new Set();
    const stricter = [...words].filter((word) => !before.has(word) && isStricter(part, word, before));
    return old.has(operation) ? stricter.map((word) => `${part}: ${word} is new`) : [];
  });
  return [...gone, ...added];
}

/** Keys of facts that requests and command lines have to satisfy. */
const needs = ["required", "pattern", "format", "additionalProperties"];

/** Whether `word` could go, because requests and command lines that satisfied it are still accepted. */
function isLoosened(part: string, word: string, current: ReadonlySet<string>): boolean {
  const [key = "", value] = word.split("=");
  const other = [...current].find((one) => one.startsWith(`${key}=`))?.split("=")[1];
  if (key.startsWith("max")) return other === undefined || Number(other) > Number(value);
  if (!isSentByUsers(part)) return false;
  if (key.startsWith("min")) return other === undefined || Number(other) < Number(value);
  return needs.includes(key);
}

/** Whether requests and command lines, or programs that read a response, may fail because of the new `word`. */
function isStricter(part: string, word: string, before: ReadonlySet<string>): boolean {
  const [key = ""] = word.split("=");
  const isFirst = ![...before].some((one) => one.startsWith(`${key}=`));
  if (!isSentByUsers(part)) return key === "type" && !isFirst;
  return needs.includes(key) || (/^(?:enum$|min|max)/.test(key) && isFirst);
}

/** The schemas of request bodies, and those in them. */
const requestSchemas = new Set<string>();
addSchemas(
  Object.values<Json>(document.paths).flatMap((item) => Object.values<Json>(item).map((one) => one.requestBody)),
);

function addSchemas(node: Json): void {
  for (const [, schema = ""] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (requestSchemas.has(schema)) continue;
    requestSchemas.add(schema);
    addSchemas(document.components.schemas[schema]);
  }
}

function isSentByUsers(part: string): boolean {
  const [, schema = ""] = /^components schemas (\w+)/.exec(part) ?? [];
  return (
    requestSchemas.has(schema) ||
    /^(?:command|components parameters|paths \S+ \S+ (?:requestBody|parameters))\b/.test(part)
  );
}

/** The whole OpenAPI document, without texts and examples. */
function interfaceFacts({ paths, webhooks, components }: Json): Facts {
  const facts = new Map<string, Set<string>>();
  const add = (part: string, node: Json) => {
    const words = new Set<string>();
    facts.set(part, words);
    const addChild = (key: string, value: Json) => {
      const reference = value.$ref?.split("/").at(-1);
      words.add(reference ? `${key}→${reference === key ? "" : reference}` : key);
      if (!reference) add(`${part} ${key}`, value);
    };
    for (const [key, value] of Object.entries<Json>(node)) {
      const isText = ["title", "summary", "description"].includes(key) && typeof value === "string";
      if (isText || /^(?:x-.*|tags|examples?)$/.test(key)) continue;
      if (Array.isArray(value))
        for (const [index, one] of value.entries()) {
          if (typeof one === "object") addChild(`${key}.${one.name ?? (one.$ref ? "" : index)}`, one);
          else words.add(toWord(key, one));
        }
      else if (typeof value === "object") addChild(key, value);
      else words.add(toWord(key, value));
    }
  };
  for (const [part, node] of Object.entries({ paths, webhooks, components })) add(part, node);
  return facts;
}

function toWord(key: string, value: Json): string {
  return `${key}=${value}`.replaceAll(/\s/g, "_");
}

/** Every command's arguments and options, and those it needs. */
function commandFacts(command: Command, part: string): Facts {
  const facts = new Map([[part, new Set(command.commands.map((one) => one.name()))]]);
  const words = facts.get(part) as Set<string>;
  for (const [index, one] of command.registeredArguments.entries()) {
    words.add(`argument${index}${one.variadic ? "..." : ""}`);
    if (one.required) words.add(`required=argument${index}`);
    for (const choice of one.argChoices ?? []) words.add(`argument${index}=${choice}`);
  }
  for (const one of command.options) {
    const flag = one.long ?? one.flags;
    if (one.short) words.add(one.short);
    words.add(`${flag}${one.required ? "=<>" : one.optional ? "=[]" : ""}`);
    if (one.mandatory) words.add(`required=${flag}`);
    for (const choice of one.argChoices ?? []) words.add(`${flag}=${choice}`);
  }
  return new Map([...facts, ...command.commands.flatMap((one) => [...commandFacts(one, `${part} ${one.name()}`)])]);
}

/** These run with `--json`. `URL` stands for a receiver's address, `KEY` for a key, `DATABASE` for the database, and `SERVER` for a server. */
const runs = `
  site add shop --default; site set shop --hostname shop.example
  key create --site shop --label till --from 203.0.113.0/24 --expires 90d --rate 5; key set KEY --label desk
  import --site shop brands brands.csv; import --site shop locations locations.csv
  webhook add --site shop URL --resource brands --since 0.0; webhook list; webhook test 1; webhook deliveries 1
  webhook change 1 URL?a; webhook rotate 1; webhook pause 1; webhook resume 1; webhook rewind 1 --since 1h
  operator add anna; operator add ben --site shop; operator set ben --all-sites; operator role ben viewer; operator list
  operator link ben --url http://127.0.0.1:1; operator sign-out ben; operator remove ben
  delete --site shop locations 1; restore-record --site shop locations 1; undo --site shop --since 1
  journal --site shop; journal --system; journal prune --site shop --before 3
  site sandbox shop; site show shop; site list; describe shop; apply sites.yaml --yes --keys-to new.jsonl
  export-site shop shop.site; import-site shop.site --name copy; site remove copy --yes
  backup all.backup; check all.backup; restore all.backup; copy --from DATABASE --to sqlite:copy.db; renew
  webhook retry 1; export --site shop brands; webhook remove 1; key rotate KEY; key revoke KEY; key list --site shop; health --url SERVER`;

/** The members of what commands print. */
async function outputFacts(known: Facts): Promise<Facts> {
  await Bun.write(workspace.file("brands.csv"), 'Name\nA\n""\n');
  await Bun.write(workspace.file("locations.csv"), "Code,Name\nN,North\n");
  await Bun.write(workspace.file("sites.yaml"), "sites: [{name: toys, keys: [{label: ERP, can: [read]}]}]");
  const facts = new Map<string, Set<string>>();
  const values = { URL: receiver.url, KEY: "", DATABASE: workspace.database, SERVER: server.url };
  for (const line of runs.trim().split(/; |\n */)) {
    const words = `${line} --json`.replace(/URL|KEY|DATABASE|SERVER/, (name) => values[name as "URL"]).split(" ");
    const [name = ""] = [words.slice(0, 2).join(" "), words[0] as string].filter((one) => known.has(`command ${one}`));
    const stdout = await workspace.mustRun(words);
    const members = facts.get(`output ${name}`) ?? new Set();
    for (const one of parse(stdout)) for (const member of membersOf(one)) members.add(member);
    facts.set(`output ${name}`, members);
    if (name === "key create") values.KEY = JSON.parse(stdout).prefix;
  }
  const leaves = [...known.keys()].filter((part) => ![...known.keys()].some((one) => one.startsWith(`${part} `)));
  const missing = leaves.map((part) => part.replace("command ", "")).filter((name) => !facts.has(`output ${name}`));
  expect(missing).toEqual(["serve", "help"]);
  return facts;
}

/** The results in a command's output: one, or one per line. */
function parse(stdout: string): Json[] {
  try {
    return [JSON.parse(stdout)];
  } catch {
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }
}

/** Such as `name=string` and `keys[].id=number`. */
function membersOf(value: Json, path = ""): string[] {
  if (Array.isArray(value)) return [`${path}[]`, ...value.flatMap((one) => membersOf(one, `${path}[]`))];
  if (value === null || typeof value !== "object") return [`${path}=${value === null ? "null" : typeof value}`];
  return Object.entries(value).flatMap(([name, one]) => membersOf(one, path === "" ? name : `${path}.${name}`));
}

/** The metrics in the manual, which are all there are, with their labels on SQLite. */
async function metricFacts(): Promise<Facts> {
  const { site } = await makeSandbox(server.engine, server.site.Name, { now: Date.now });
  const sandboxKey = (await createKey(server.engine, site, {}, Date.now())).key;
  for (const key of [sandboxKey, null]) await server.call("GET", "/restapi/brands.json", { key });
  const own = await toMetricsText([processFamilies({ responding: 1, expected: 1, restarts: 0 })]);
  const text = `${await server.metrics()}\n${own}`;
  const manual = readFileSync(join(root, "docs/operating/monitoring.md"), "utf8");
  const names = [...manual.matchAll(/^\| (`storefront_.*?) \|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
  const facts = new Map([["metrics", new Set(names)]]);
  for (const name of names) {
    const type = new RegExp(`^# TYPE ${name} (.*)$`, "m").exec(text)?.[1];
    const samples = text.matchAll(new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, "gm"));
    const labels = [...samples].flatMap(([, list = ""]) => [...list.matchAll(/(\w+)="/g)].map(([, label]) => label));
    if (type) facts.set(`metric ${name}`, new Set([`type=${type}`, ...labels.map((label) => `label=${label}`)]));
  }
  return facts;
}
