// The command line in general: help, usage errors and exit statuses.

import { afterAll, describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { version } from "../../package.json" with { type: "json" };
import { readBuild } from "../../src/build.ts";
import { createProgram, loadCommands } from "../../src/commands/program.ts";
import { openWorkspace } from "../support/programs/command.ts";
import { waitUntil } from "../support/time.ts";

const { commit } = readBuild();
const versionLine = `${version} (${commit})\n`;
const root = fileURLToPath(new URL("../..", import.meta.url));
const workspace = openWorkspace();
afterAll(() => workspace.close());

/** All commands and groups below `parent`, with their paths. */
function commandsOf(parent: Command, above: readonly string[] = []): { path: string[]; command: Command }[] {
  return parent.commands.flatMap((command) => {
    const path = [...above, command.name()];
    return [{ path, command }, ...commandsOf(command, path)];
  });
}

/** A command's help, as printed. */
function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 80 }).outputHelp();
  return help;
}

const all = commandsOf(await createProgram(undefined));

describe("help", () => {
  test("lists all commands in groups, on stdout", async () => {
    const { code, stdout, stderr } = await workspace.run(["--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n").filter((line) => line.length > 120)).toEqual([]);
    expect([...stdout.matchAll(/^([A-Z][a-z, ]+):$/gm)].map(([, heading]) => heading)).toEqual([
      "Options",
      "Serving",
      "Sites, keys, webhooks and operators",
      "Records",
      "History, sites as files, and the whole database",
      "Help",
      "Getting started",
    ]);
    for (const { path } of all.filter(({ path }) => path.length === 1))
      expect(stdout).toMatch(new RegExp(`^ {2}${path[0]} `, "m"));
  });

  test.each(
    all.map(({ path, command }) => [path.join(" "), command] as const),
  )("for `%s` fits a terminal, and ends with an example that only has the command's own options", (path, command) => {
    const help = helpOf(command);
    expect(help.split("\n").filter((line) => line.length > 120)).toEqual([]);
    const last = help.trimEnd().split("\n\n").at(-1) ?? "";
    expect(last).toMatch(new RegExp(`^Examples?:(?:\\n {2}storefront ${path}\\b.*)+$`));
    if (command.commands.length > 0) return;
    expect((last.match(/ --[a-z-]+/g) ?? []).filter((option) => !help.includes(` ${option}`))).toEqual([]);
  });

  test("for a command is printed to stdout, with its own options and example", async () => {
    const { code, stdout, stderr } = await workspace.run(["site", "add", "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(helpOf(all.find(({ path }) => path.join(" ") === "site add")?.command as Command));
  });

  test("is also printed by `help` and the command's name", async () => {
    expect(await workspace.mustRun(["help"])).toBe(await workspace.mustRun(["--help"]));
    expect(await workspace.mustRun(["help", "site", "add"])).toBe(await workspace.mustRun(["site", "add", "--help"]));
  });
});

test("a call only loads its own command's file", async () => {
  const top = all.filter(({ path: [name, ...inside] }) => name !== "help" && inside.length === 0);
  for (const { command } of top) {
    const loaded = (await loadCommands(command.name())).map((each) => each.name());
    expect(loaded).toEqual([command.name()]);
  }
  expect((await loadCommands("unknown")).length).toBe(top.length);
});

describe("a usage error exits with 2, prints nothing on stdout, and gives a hint", () => {
  const calls: [string, string[], RegExp][] = [
    ["no command", [], /Usage: storefront/],
    ["a misspelt command", ["serv"], /^storefront: unknown command `serv`: did you mean `serve`\?\n$/],
    ["a misspelt subcommand", ["site", "ad"], /unknown command `site ad`: did you mean `site add`\?/],
    ["a misspelt command without its hyphen", ["operator", "sigout", "x"], /did you mean `operator sign-out`\?/],
    ["a synonym for a command", ["start"], /did you mean `serve`\?/],
    ["a synonym for a subcommand", ["key", "delete", "x"], /did you mean `key revoke`\?/],
    ["a command with a hyphen instead of a space", ["create-site", "x"], /did you mean `site add`\?/],
    ["a command in the other order", ["list", "keys"], /did you mean `key list`\?/],
    ["a word that several commands have", ["list"], /did you mean `site list` or `key list` or `webhook list`\?/],
    [
      "a word unlike any command",
      ["frobnicate"],
      /unknown command `frobnicate`: `storefront --help` lists all commands/,
    ],
    ["a command named like a JavaScript object member", ["constructor"], /unknown command `constructor`/],
    ["a very long command", ["x".repeat(100_000)], /^storefront: unknown command `x{200}`: `storefront --help`/],
    ["the help of a misspelt command", ["help", "site", "remvoe"], /`site remvoe`: did you mean `site remove`\?/],
    ["a misspelt field", ["import", "--site", "x", "brands", "-", "--match", "Town"], /did you mean `Address.Town`\?/],
    ["an unknown option", ["check", "--jsno"], /unknown option '--jsno'\n\(Did you mean --json\?\)/],
    ["a missing argument", ["backup"], /missing required argument 'file'/],
    ["an extra argument", ["renew", "twice"], /too many arguments/],
    ["an option without its value", ["check", "--database"], /argument missing/],
  ];
  test.each(calls)("%s", async (_, args, hint) => {
    const { code, stdout, stderr } = await workspace.run(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(hint);
  });
});

test("--version prints the package's version and commit", async () => {
  expect(await workspace.mustRun(["--version"])).toBe(versionLine);
  expect(await workspace.mustRun(["-V"])).toBe(versionLine);
});

test("every command with a result prints valid JSON with --json", async () => {
  const json = async (...args: string[]) => JSON.parse(await workspace.mustRun([...args, "--json"]));
  expect(await json("site", "add", "main")).toMatchObject({ id: 1, name: "main" });
  expect(await json("site", "set", "main", "--default")).toMatchObject({ isDefault: true });
  const { key, prefix } = await json("key", "create", "--site", "main");
  expect(key).toStartWith(prefix);
  expect((await json("key", "rotate", prefix)).key).toStartWith("sfk_");
  expect((await json("key", "revoke", prefix)).revoked).not.toBeNull();
  expect(await json("key", "list", "--site", "main")).toHaveLength(2);
  await Bun.write(workspace.file("rows.csv"), "Name\nA\n");
  expect(await json("import", "--site", "main", "brands", workspace.file("rows.csv"))).toMatchObject({ created: 1 });
  expect(await json("export", "--site", "main", "brands")).toHaveLength(1);
  expect(await json("journal", "--site", "main")).toMatchObject({ revision: 1, record: { Name: "A" } });
  await workspace.mustRun(["import", "--site", "main", "brands", "-", "--match", "Name"], {
    stdin: "Name,AccountNumber\nA,1\n",
  });
  expect(await json("restore-record", "--site", "main", "brands", "1")).toMatchObject({ AccountNumber: "" });
  const backup = workspace.file("x.backup");
  expect(await json("backup", backup)).toMatchObject({ file: backup });
  expect((await json("restore", backup)).kept).toEqual([expect.stringContaining("before")]);
  expect(await json("check")).toEqual({ faults: [] });
  expect(await json("site", "list")).toHaveLength(1);
  expect(await json("site", "remove", "main", "--yes")).toMatchObject({ name: "main" });
});

test("in a checkout, ./storefront only needs Node", () => {
  const run = (...args: string[]) => Bun.spawnSync([`${root}storefront`, ...args], { cwd: workspace.folder });
  expect(run("--version").stdout.toString()).toBe(versionLine);
  expect(run("site", "list", "--database", "sqlite:none.db").exitCode).toBe(1);
  expect(run("nonsense").exitCode).toBe(2);
});

test("in a checkout, printed commands work in the current folder", () => {
  const help = (cwd: string) => Bun.spawnSync([`${root}storefront`, "--help"], { cwd }).stdout.toString();
  expect(help(root)).toContain("\n  ./storefront serve --demo ");
  expect(help(workspace.folder)).toContain(`\n  ${root}storefront serve --demo `);
});

test("a server started through Node exits with 0, even after pressing Ctrl-C twice", async () => {
  const node = Bun.which("node") ?? process.execPath;
  const child = Bun.spawn([node, `${root}bin/storefront.js`, "serve", "--port", "0"], {
    cwd: workspace.folder,
    stdout: "pipe",
    stderr: "pipe",
  });
  const reader = child.stdout.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("listening on");
  child.kill("SIGINT");
  child.kill("SIGINT");
  expect(await child.exited).toBe(0);
});

test("a server started by npm ends when npm is stopped", async () => {
  const child = Bun.spawn(["npm", "start", "--silent"], {
    cwd: root,
    env: { ...process.env, STOREFRONT_PORT: "0", STOREFRONT_DATABASE: `sqlite:${workspace.file("npm.db")}` },
    stdout: "pipe",
    stderr: "ignore",
  });
  const url = await addressIn(child.stdout);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill("SIGTERM");
  const hasEnded = async () => (await fetch(`${url}/healthz`).catch(() => undefined)) === undefined;
  await waitUntil(hasEnded, "its end");
});

async function addressIn(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let text = "";
  for await (const chunk of output) {
    text += new TextDecoder().decode(chunk);
    const url = /listening on (\S+)\n/.exec(text)?.[1];
    if (url) return url;
  }
  return undefined;
}
