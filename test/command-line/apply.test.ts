// Sites as code on the command line: `apply` and `describe`. test/operator/apply-sites.test.ts tests what they change.

import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020";
import { listKeys } from "../../src/operator/sites/keys.ts";
import { sitesSchemaDocument } from "../../src/operator/sites/sites-file.ts";
import { fetchWithKey, openWorkspace } from "../support/programs/command.ts";

const workspace = openWorkspace();
afterAll(() => workspace.close());
await workspace.data.addSite("garden", { hostnames: ["garden.example"] });

const run = (...args: string[]) => workspace.run(args);
const applyText = (text: string | Uint8Array, ...args: string[]) =>
  workspace.run(["apply", "-", ...args], { stdin: text });
/** What's wrong with a file, without its name. */
const mistakesIn = async (text: string | Uint8Array) => {
  const { code, stdout, stderr } = await applyText(text, "--check");
  expect([code, stdout]).toEqual([1, ""]);
  return stderr
    .trim()
    .split("\n")
    .map((line) => line.replace(/^storefront: (?:stdin:)?/, ""));
};
let files = 0;
beforeEach(() => void files++);
const newFile = () => workspace.file(`keys-${files}.jsonl`);

test("apply: shows the plan, stores secrets in a new file that only its owner can read, and the key works", async () => {
  const text =
    "sites: [{name: toys, hostnames: [toys.example], keys: [{label: till}], webhooks: [{url: 'http://127.0.0.1:9/'}]}]";
  const lines =
    "+ site toys: hostnames toys.example\n+ key till at toys: can write\n+ webhook http://127.0.0.1:9/ at toys\n";
  expect(await applyText(text, "--dry-run")).toMatchObject({ code: 0, stdout: lines });
  expect(await applyText(text, "--check")).toMatchObject({ code: 3, stdout: lines });
  expect(await applyText(text)).toMatchObject({ code: 2, stderr: expect.stringContaining("--keys-to <file>") });
  const file = newFile();
  const unconfirmed = await applyText(text, "--keys-to", file);
  expect(unconfirmed).toMatchObject({ code: 2, stderr: expect.stringContaining("add --yes") });
  expect(existsSync(file)).toBe(false);
  expect(await applyText(text, "--keys-to", file, "--yes")).toMatchObject({ code: 0, stdout: lines });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const [till, webhook] = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(till).toEqual({ site: "toys", label: "till", key: expect.stringMatching(/^sfk_/) });
  expect(webhook).toEqual({ site: "toys", url: "http://127.0.0.1:9/", secret: expect.stringMatching(/^whsec_/) });
  expect(await applyText(text, "--check")).toMatchObject({ code: 0, stdout: "" });
  const again = await applyText("sites: [{name: toys, keys: [{label: new}]}]", "--keys-to", file, "--yes");
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("already exists") });
  const server = await workspace.serve();
  const response = await fetchWithKey(`${server.url}/restapi/brands.json`, till.key, {
    headers: { Host: "toys.example" },
  });
  expect(response.status).toBe(200);
  const schema = await (await fetch(`${server.url}/schemas/sites.json`)).json();
  expect(schema).toEqual(JSON.parse(JSON.stringify(sitesSchemaDocument())));
  server.kill();
  await server.exited;
});

test("apply: secrets go to a command, and are only used if it succeeds", async () => {
  const text = "sites: [{name: garden, keys: [{label: piped}]}]";
  const keys = async () => (await workspace.data.use((engine) => listKeys(engine))).map(({ Label }) => Label);
  expect(await applyText(text, "--yes", "--keys-to-command", "cat > lost; exit 3")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("exit status 3"),
  });
  expect(await keys()).not.toContain("piped");
  expect(await applyText(text, "--yes", "--keys-to-command", "cat > kept")).toMatchObject({ code: 0 });
  expect(await keys()).toContain("piped");
  expect(JSON.parse(readFileSync(workspace.file("kept"), "utf8"))).toMatchObject({ site: "garden", label: "piped" });
});

test("apply: nothing is removed if secrets can't be handed over", async () => {
  await workspace.data.addSite("kept");
  const text = "sites: [{name: garden, keys: [{label: lost}]}]";
  const args = ["--yes", "--prune", "--allow-removals", "9", "--keys-to-command"];
  expect((await applyText(text, ...args, "false")).code).toBe(1);
  expect((await applyText(text, ...args, " ")).code).toBe(2);
  expect((await run("site", "show", "kept")).code).toBe(0);
});

test("apply: one journaled run, and JSON for programs", async () => {
  const text = "sites: [{name: garden, suspended: true}, {name: more, sandbox: true}]";
  const { code, stdout } = await applyText(text, "--yes", "--json");
  const result = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(result.changes[0]).toEqual({
    action: "change",
    kind: "site",
    site: "garden",
    details: ["suspended false → true"],
  });
  const journal = await workspace.mustRun(["journal", "--system", "--json"]);
  expect(journal.split("\n").filter((line) => line.includes(`"run":"${result.run}"`))).toHaveLength(4);
  const unchanged = JSON.parse((await applyText(text, "--check", "--json")).stdout);
  expect(unchanged).toMatchObject({ changes: [], run: null });
});

test("apply: sites with records are only removed as far as that's allowed", async () => {
  await workspace.data.addSite("full");
  await workspace.data.addBrands("full", "Acme", "Bolt");
  const all = JSON.parse((await run("describe", "--json")).stdout);
  const rest = JSON.stringify({ sites: all.sites.filter(({ name }: { name: string }) => name !== "full") });
  expect(await applyText(rest, "--check")).toMatchObject({ code: 0 });
  const refused = await applyText(rest, "--prune", "--yes");
  expect(refused).toMatchObject({ code: 1, stdout: "- site full with 2 records\n" });
  expect(refused.stderr).toContain("add --allow-removals 1");
  expect(await applyText(rest, "--prune", "--yes", "--allow-removals", "1")).toMatchObject({ code: 0 });
  expect((await run("site", "show", "full")).code).toBe(1);
});

test("describe: its file follows the schema, and applying it changes nothing", async () => {
  await workspace.mustRun(["key", "create", "--site", "garden", "--label", "no", "--expires", "90d"]);
  const { stdout } = await run("describe");
  expect(stdout).toMatch(/^# yaml-language-server: \$schema=http:\/\/127\.0\.0\.1:\d+\/schemas\/sites\.json\nsites:\n/);
  expect(stdout).toContain('label: "no"');
  expect(await applyText(stdout, "--check", "--prune")).toMatchObject({ code: 0, stdout: "" });
  const json = (await run("describe", "--json")).stdout;
  expect(Bun.YAML.parse(stdout)).toEqual(JSON.parse(json));
  expect(await applyText(json, "--check", "--prune")).toMatchObject({ code: 0, stdout: "" });
  const schema = JSON.parse(JSON.stringify(sitesSchemaDocument()));
  const isValid = new Ajv2020({ allowUnionTypes: true }).compile(schema);
  expect(isValid(JSON.parse(json))).toBe(true);
  expect(isValid({ sites: [{ name: "a", hostname: "b" }] })).toBe(false);
  expect(JSON.parse((await run("describe", "garden", "--json")).stdout).sites).toHaveLength(1);
  expect(await run("describe", "gardem")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("did you mean `garden`?"),
  });
});

test("several files are merged, and a site can't be in two of them", async () => {
  const [one, two] = ["one.yaml", "two.yaml"].map((name) => workspace.file(name)) as [string, string];
  writeFileSync(one, "sites:\n  - name: first\n    default: true\n");
  writeFileSync(two, "sites:\n  - name: second\n");
  expect(await run("apply", one, two, "--dry-run")).toMatchObject({
    stdout: "+ site first: default true\n+ site second\n",
  });
  writeFileSync(two, "sites:\n  - name: first\n    default: true\n");
  const { code, stderr } = await run("apply", one, two, "--dry-run");
  expect(code).toBe(1);
  expect(stderr).toContain(`${two}:2:11: the site \`first\` is already at ${one}:2:5`);
  expect(stderr).toContain(`${two}:3:14: the default site is already at ${one}:2:5`);
  expect((await run("apply", "-", "-", "--dry-run")).code).toBe(2);
});

const mistakes: [string, string | Uint8Array, readonly (string | RegExp)[]][] = [
  [
    "every mistake with its place",
    `sites:
  - name: Garden
    hostname: a.example
    default: yes
    keys:
      - label: 123
        rate: fast
        can: [brand:read]
        expires: 90
      - label: a
        from: [10.0.0.1/8]
      - {label: a, expires: tomorrow}
      - {can: [read]}
  - name: no
    suspended: no
    webhooks: [{url: "http://erp.example/"}, {url: "https://erp.example"}, {url: "https://ERP.example/"}]
  - keys: []
  - {name: b, name: c}
`,
    [
      /^2:11: use lower-case letters/,
      "3:5: unknown field `hostname`; did you mean `hostnames`?",
      "4:14: use true or false, without quotes, instead of `yes`",
      /^7:15: use a whole number/,
      "8:15: unknown value `brand:read`; did you mean `brands:read`?",
      /^9:18: invalid time `90`/,
      /^11:16: the network `10\.0\.0\.1\/8` has bits set after its prefix/,
      "12:17: the same label is already at stdin:10:9",
      /^12:29: invalid time `tomorrow`/,
      /^13:9: give the key a `label`/,
      "15:16: use true or false, without quotes, instead of `no`",
      /^16:22: webhook URL: use https/,
      "16:82: the same url is already at stdin:16:46",
      "17:5: `name` is missing",
      "18:15: `name` is set twice; set it only once",
    ],
  ],
  ["tabs", "sites:\n\t- name: a\n", [/^2:1: indent with spaces/]],
  ["an unclosed list", "sites: [\n", [/^2:1: .*a closing \] or \}/]],
  ["several documents", "sites: []\n---\nsites: []\n", [/^2:1: the file has several documents/]],
  ["an empty file", "# nothing\n", [/^1:1: the file is empty/]],
  ["a list", "[]", [/^1:1: use fields here, such as `sites: /]],
  ["no value", "sites:\n  - name:\n", [/^2:10: give the field a value/]],
  ["an unknown alias", "sites: *x", ["1:8: there's no `&x` above"]],
  ["an alias of itself", "sites: &x [*x]", [/^1:11: use fields here/]],
  ["deep nesting", `sites: ${"[".repeat(50_000)}`, [/nested too deeply$/]],
  [
    "another encoding",
    Buffer.from("sites: [{name: \xe4}]", "latin1"),
    ["the file isn't valid UTF-8; save stdin as UTF-8"],
  ],
];
test.each(mistakes)("mistakes in a file: %s", async (_, text, expected) => {
  const found = await mistakesIn(text);
  expect(
    found
      .map((line, at) => (expected[at] instanceof RegExp && expected[at].test(line) ? expected[at] : line))
      .slice(0, expected.length),
  ).toEqual([...expected]);
  if (expected.length > 1) expect(found).toHaveLength(expected.length);
});

test("mistakes in a file: a hundred are listed", async () => {
  const found = await mistakesIn(`sites: [${"{nam: a}, ".repeat(200)}]`);
  expect(found).toHaveLength(100);
  expect(found[0]).toMatch(/\(and more; the first 100 are listed\)$/);
});

test("files with a byte order mark, in UTF-16, with CRLF and with aliases are read", async () => {
  const text = "sites:\r\n  - &a {name: utf, hostnames: &h [utf.example]}\r\n";
  for (const bytes of [`\ufeff${text}`, Buffer.from(`\ufeff${text}`, "utf16le"), Buffer.from(text, "utf16le")])
    expect(await applyText(bytes, "--dry-run")).toMatchObject({ stdout: "+ site utf: hostnames utf.example\n" });
  const shared =
    "sites: [{name: a1, keys: [{label: x, can: &can [brands:read]}]}, {name: a2, keys: [{label: x, can: *can}]}]";
  expect((await applyText(shared, "--dry-run")).stdout).toContain("+ key x at a2: can brands:read\n");
});

test("huge files are rejected, even if only aliases make them huge", async () => {
  const file = workspace.file("huge.yaml");
  const apply = async (text: string) => {
    writeFileSync(file, text);
    return run("apply", file, "--check");
  };
  expect(await apply("a".repeat(5 << 20))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("larger than 4 MiB"),
  });
  expect(await apply(`sites: [${"[],".repeat(1 << 20)}]`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("too many values"),
  });
  const keys = `&k [${"{label: x, can: *a}, ".repeat(900)}]`;
  const bomb = `sites: [{name: a, hostnames: &a [${"x, ".repeat(900)}]}, {name: b, keys: ${keys}}, ${"{name: c, keys: *k}, ".repeat(99)}]`;
  expect(await apply(bomb)).toMatchObject({ code: 1, stderr: expect.stringContaining("more than 500000 values") });
});
