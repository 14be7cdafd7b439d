// Files that another program changes while a command is reading them.

import { afterAll, expect, test } from "bun:test";
import { appendFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openInput } from "../../src/commands/shared/input-file.ts";
import { openWorkspace } from "../support/programs/command.ts";

const workspace = openWorkspace();
afterAll(() => workspace.close());

const size = 4 << 20;

/** Reads a file and calls `change` after the first chunk. Returns the number of bytes read. */
async function readWhile(change: (file: string) => void): Promise<number> {
  const file = workspace.file("rows.csv");
  writeFileSync(file, "x".repeat(size));
  let read = 0;
  for await (const bytes of openInput(file)) {
    if (read === 0) change(file);
    read += bytes.length;
  }
  return read;
}

const changes: [string, (file: string) => void][] = [
  ["grows", (file) => appendFileSync(file, "more")],
  ["is cut short", (file) => truncateSync(file, 1000)],
  ["is emptied", (file) => truncateSync(file, 0)],
];
test.each(
  changes,
)("a file that %s while it's being read is rejected, because rows may be missing", async (_, change) => {
  await expect(readWhile(change)).rejects.toThrow(/rows\.csv changed while it was being read; try again when/);
});

test.each(changes)("standard input from a file that %s while it's being read is rejected", async (_, change) => {
  const [file, go] = [workspace.file("input.csv"), workspace.file("go")];
  writeFileSync(file, "x".repeat(size));
  rmSync(go, { force: true });
  // Another process does the reading, because a process has only one standard input. It waits after the first bytes until the file has changed.
  const script = `
    import { existsSync } from "node:fs";
    import { openInput } from ${JSON.stringify(join(import.meta.dir, "../../src/commands/shared/input-file.ts"))};
    let read = 0;
    try {
      for await (const bytes of openInput("-")) {
        if (read === 0) console.log("reading");
        while (!existsSync(${JSON.stringify(go)})) Bun.sleepSync(5);
        read += bytes.length;
      }
      console.log(read);
    } catch (error) {
      console.log(error.message);
    }`;
  const reader = Bun.spawn([process.execPath, "-e", script], { stdin: Bun.file(file), stdout: "pipe" });
  let shown = "";
  for await (const text of reader.stdout.pipeThrough(new TextDecoderStream())) {
    if (shown === "") change(file);
    writeFileSync(go, "");
    shown += text;
  }
  const message = "standard input changed while it was being read; try again when it's complete";
  expect(shown).toBe(`reading\n${message}\n`);
});

test("standard input from a file is read from where the previous program stopped", async () => {
  const file = workspace.file("titled.csv");
  writeFileSync(file, "My brands\nName\nA\n");
  await workspace.mustRun(["site", "add", "main"]);
  const wrap = (command: string) => `(read -r title; ${command}) < ${file}`;
  expect(await workspace.mustRun(["import", "brands", "--site", "main", "-"], { wrap })).toStartWith(
    "1 row: 1 created",
  );
});

test("a file replaced by another of the same name is read to its end", async () => {
  const next = workspace.file("next.csv");
  writeFileSync(next, "y");
  expect(await readWhile((file) => renameSync(next, file))).toBe(size);
});
