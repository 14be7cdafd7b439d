import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { version } from "../../package.json" with { type: "json" };
import { openWorkshop, type Workshop } from "../support/command.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let shop: Workshop;
beforeAll(() => {
  shop = openWorkshop();
});
afterAll(() => shop.close());

const commands = [
  "serve",
  "site add",
  "site list",
  "site show",
  "site set",
  "site remove",
  "key create",
  "key list",
  "key set",
  "key revoke",
  "key rotate",
  "import",
  "export",
  "journal",
  "restore-record",
  "backup",
  "restore",
  "check",
];

describe("help", () => {
  test("names every command, and ends with 0", async () => {
    const { code, stdout } = await shop.run(["--help"]);
    expect(code).toBe(0);
    for (const command of commands) expect(stdout).toContain(`  ${command.split(" ")[0]} `);
  });

  test.each(commands)("of %s is on stdout, ends with 0 and fits a terminal", async (command) => {
    const { code, stdout, stderr } = await shop.run([...command.split(" "), "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("--database <url>");
    expect(stdout.split("\n").filter((line) => line.length > 120)).toEqual([]);
  });
});

describe("a wrong call ends with 2, nothing on stdout and a hint", () => {
  const calls: [string, string[], RegExp][] = [
    ["no command", [], /Usage: storefront/],
    ["an unknown command", ["serv"], /unknown command 'serv'\n\(Did you mean serve\?\)/],
    ["an unknown command of a group", ["site", "ad"], /Did you mean add\?/],
    ["an unknown option", ["check", "--jsno"], /unknown option '--jsno'\n\(Did you mean --json\?\)/],
    ["an argument too few", ["backup"], /missing required argument 'file'/],
    ["an argument too many", ["check", "twice"], /too many arguments/],
    ["an option without its value", ["check", "--database"], /argument missing/],
  ];
  test.each(calls)("%s", async (_, args, hint) => {
    const { code, stdout, stderr } = await shop.run(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(hint);
  });
});

test("--version is that of the package", async () => {
  expect(await shop.must(["--version"])).toBe(`${version}\n`);
});

test("--json parses for every command that prints", async () => {
  const json = async (...args: string[]) => JSON.parse(await shop.must([...args, "--json"]));
  expect(await json("site", "add", "main")).toMatchObject({ ID: 1, Name: "main" });
  expect(await json("site", "set", "main", "--default")).toMatchObject({ Default: "yes" });
  const { key, Prefix } = await json("key", "create", "--site", "main");
  expect(key).toStartWith(Prefix);
  expect((await json("key", "rotate", Prefix)).key).toStartWith("sfk_");
  expect((await json("key", "revoke", Prefix)).Revoked).not.toBe("");
  expect(await json("key", "list", "--site", "main")).toHaveLength(2);
  await Bun.write(shop.file("rows.csv"), "Name\nA\n");
  expect(await json("import", "--site", "main", "brands", shop.file("rows.csv"))).toMatchObject({ created: 1 });
  expect(await json("export", "--site", "main", "brands")).toHaveLength(1);
  expect(await json("journal", "--site", "main")).toMatchObject({ revision: 1, record: { Name: "A" } });
  await shop.must(["import", "--site", "main", "brands", "-", "--match", "Name"], {
    stdin: "Name,AccountNumber\nA,1\n",
  });
  expect(await json("restore-record", "--site", "main", "brands", "1")).toMatchObject({ AccountNumber: "" });
  const backup = shop.file("x.backup");
  expect(await json("backup", backup)).toMatchObject({ file: backup });
  expect((await json("restore", backup)).kept).toEqual([expect.stringContaining("before")]);
  expect(await json("check")).toEqual({ faults: [] });
  expect(await json("site", "list")).toHaveLength(1);
  expect(await json("site", "remove", "main", "--yes")).toMatchObject({ Name: "main" });
});

test("`npx storefront` works in a checkout with Node alone", async () => {
  const { bin } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const node = Bun.which("node") ?? process.execPath;
  const run = (...args: string[]) => Bun.spawnSync([node, `${root}${bin.storefront}`, ...args], { cwd: shop.folder });
  expect(run("--version").stdout.toString()).toBe(`${version}\n`);
  expect(run("site", "list", "--database", "sqlite:none.db").exitCode).toBe(1);
  expect(run("nonsense").exitCode).toBe(2);
  const npx = Bun.which("npx");
  if (npx) {
    const asked = Bun.spawnSync([npx, "--no-install", "storefront", "--version"], { cwd: root });
    expect(asked.stdout.toString()).toBe(`${version}\n`);
  }
});

test("a server that was started through Node ends as well as one without, also on a Ctrl-C that comes twice", async () => {
  const node = Bun.which("node") ?? process.execPath;
  const child = Bun.spawn([node, `${root}bin/storefront.js`, "serve", "--port", "0"], {
    cwd: shop.folder,
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = child.stdout.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("listens on");
  child.kill("SIGINT");
  child.kill("SIGINT");
  expect(await child.exited).toBe(0);
});

test("a server that npm started ends when npm is told to end", async () => {
  const child = Bun.spawn(["npm", "start", "--silent"], {
    cwd: root,
    env: { ...process.env, STOREFRONT_PORT: "0", STOREFRONT_DATABASE: `sqlite:${shop.file("npm.db")}` },
    stdout: "pipe",
    stderr: "ignore",
  });
  const url = await addressIn(child.stdout);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill("SIGTERM");
  const isGone = async () => (await fetch(`${url}/healthz`).catch(() => undefined)) === undefined;
  for (let i = 0; i < 50 && !(await isGone()); i++) await Bun.sleep(100);
  expect(await isGone()).toBe(true);
});

async function addressIn(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let text = "";
  for await (const chunk of output) {
    text += new TextDecoder().decode(chunk);
    const url = /listens on (\S+)\n/.exec(text)?.[1];
    if (url) return url;
  }
  return undefined;
}
