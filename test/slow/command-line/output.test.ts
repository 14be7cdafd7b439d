// Output of commands: progress, escapes, and what happens if it can't be written.

import { afterAll, describe, expect, test } from "bun:test";
import { openWorkspace } from "../../support/programs/command.ts";

const workspace = openWorkspace();
await workspace.data.addSite("main", { isDefault: true });
await workspace.mustRun(["import", "--site", "main", "brands", "-"], {
  stdin: `Name\n${Array.from({ length: 3000 }, (_, n) => `Brand ${n}`).join("\n")}\n`,
});
afterAll(() => workspace.close());

describe("on a terminal", () => {
  const commands: [number, string[]][] = [
    [0, ["site", "add", "coloured"]],
    [0, ["key", "create", "--site", "main"]],
    [0, ["key", "list", "--site", "main"]],
    [0, ["backup", "terminal.backup"]],
    [0, ["check"]],
    [0, ["import", "--site", "main", "brands", "more.csv", "--dry-run"]],
    [0, ["site", "--help"]],
    [1, ["site", "list", "--database", "sqlite:none.db"]],
    [2, ["site", "lsit"]],
  ];
  test.each(commands)("output has no colours, and the exit status is %i, for %j", async (status, args) => {
    await Bun.write(workspace.file("more.csv"), "Name\nA\n");
    const { code, shown } = await workspace.runOnTerminal(args);
    expect(code).toBe(status);
    expect(shown).not.toBe("");
    // Progress moves the cursor and erases its line. Only colours aren't allowed.
    for (const sequence of shown.split("\u001b[").slice(1)) expect(sequence).not.toMatch(/^[\d;]*m/);
  });
});

test("long commands show their progress, but only on a terminal", async () => {
  const other = (name: string) => `sqlite:${workspace.file(name)}`;
  const commands: [string[], RegExp[]][] = [
    [["backup", "progress.backup"], [/reading: \d+ rows/]],
    [["check"], [/checking: \d+ rows/]],
    [["check", "progress.backup"], [/checking: \d+ rows/]],
    [["site", "sandbox", "main"], [/copying: \d+ rows/]],
    [
      ["restore", "progress.backup", "--database", other("a.db")],
      [/verifying: \d+ rows/, /storing \[.*\d+%/],
    ],
    [
      ["copy", "--from", workspace.database, "--to", other("b.db")],
      [/counting: \d+ rows/, /copying \[.*\d+%/, /comparing \[/],
    ],
  ];
  for (const [args, steps] of commands) {
    const { code, shown } = await workspace.runOnTerminal(args);
    expect([args[0], code]).toEqual([args[0], 0]);
    for (const step of steps) expect(shown).toMatch(step);
  }
  expect((await workspace.run(["check"])).stderr).toBe("no faults found\n");
});

describe("a full disk under stdout", () => {
  const commands = [
    ["key", "create", "--site", "main"],
    ["key", "list", "--site", "main"],
    ["site", "list", "--json"],
    ["export", "--site", "main", "brands"],
    ["journal", "--site", "main"],
    ["--version"],
  ];
  test.each(commands)("makes `%s %s` fail", async (...args) => {
    const { code, stderr } = await workspace.run(args, { to: { stdout: "/dev/full" } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^storefront: can't write to standard output: .*no space.*$/m);
    expect(stderr).not.toContain("    at ");
  });

  test("doesn't stop a new key's prefix from being printed, so that the key can be revoked", async () => {
    const { stderr } = await workspace.run(["key", "create", "--site", "main"], { to: { stdout: "/dev/full" } });
    const prefix = /^created the key (sfk_\w{8});/.exec(stderr)?.[1] as string;
    expect((await workspace.run(["key", "revoke", prefix])).stderr).toBe(`revoked the key ${prefix}\n`);
  });
});

test.each([
  [["journal", "--site", "main"]],
  [["journal", "--site", "main", "--follow", "--since", "0"]],
  [["export", "--site", "main", "brands", "--format", "json"]],
  [["site", "list"]],
])("%j ends without an error if its reader has stopped", async (args) => {
  const { code, stderr } = await workspace.run(args, {
    wrap: (command) => `{ (sleep 0.2; ${command}); echo $? >&2; } | true`,
  });
  expect([code, stderr]).toEqual([0, "0\n"]);
});

test("a command that fails ends even though its input pipe stays open", async () => {
  const started = workspace.start(["import", "--site", "main", "brands", "-"]);
  // More rows than the search for a header needs.
  started.write(`Nmae\n${"A\n".repeat(30)}`);
  expect(await started.exited).toBe(1);
  expect(started.stderr()).toContain("did you mean Name?");
});

test.each([
  [["site", "list"]],
  [["check"]],
  [["site", "lsit"]],
])("%j has the same result if stderr can't be written", async (args) => {
  const usual = await workspace.run(args);
  const { code, stdout } = await workspace.run(args, { to: { stderr: "/dev/full" } });
  expect([code, stdout]).toEqual([usual.code, usual.stdout]);
});

test("control characters and changes of text direction are escaped, in lists and in JSON", async () => {
  const name = "red\u009b31m \u202eback";
  const label = ["--label", name];
  await workspace.mustRun(["key", "create", "--site", "main", ...label]);
  await workspace.mustRun(["import", "--site", "main", "orderstatuses", "-"], {
    stdin: `ID,Name\n1,Old\n1,${name}\n1,New\n`,
  });
  const listings = [
    ["key", "list", "--site", "main"],
    ["journal", "--site", "main", "--since", "3000"],
    ["restore-record", "--site", "main", "orderstatuses", "1", "--revision", "3002"],
  ];
  for (const args of listings) {
    for (const more of [[], ["--json"]]) {
      const shown = await workspace.mustRun([...args, ...more]);
      expect(shown).toContain("red\\u009b31m \\u202eback");
      expect(shown).not.toMatch(/[\u009b\u202e]/);
    }
  }
  const keys = JSON.parse(await workspace.mustRun(["key", "list", "--site", "main", "--json"]));
  expect(keys.at(-1).label).toBe(name);
  const { stderr } = await workspace.run(["import", "--site", "main", "orderstatuses", "-"], { stdin: `${name}\nA\n` });
  expect(stderr).toContain("red\\u009b31m \\u202eback");
});

test("a change whose result can't be printed prints its revisions, so that it can be undone", async () => {
  const onFull = { to: { stdout: "/dev/full" } };
  const site = ["--site", "main"];
  const imported = await workspace.run(["import", ...site, "brands", "-", "--atomic"], {
    stdin: "Name\nA\n",
    ...onFull,
  });
  const [, since, run] = /^revision .* --since (\d+) --run (\w+)\n/.exec(imported.stderr) ?? [];
  const back = ["undo", ...site, "--since", `${since}`, "--run", `${run}`];
  const undone = await workspace.run(back, onFull);
  const deleted = await workspace.run(["delete", ...site, "brands", "1"], onFull);
  for (const { code, stderr } of [imported, undone, deleted]) {
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^revision .*\nstorefront: can't write to standard output.*\n$/),
    ]);
  }
});
