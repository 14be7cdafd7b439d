// A file that another program writes while a command reads it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openInput } from "../../src/commands/csv-options.ts";
import { openWorkshop, type Workshop } from "../support/command.ts";

let shop: Workshop;
beforeAll(() => {
  shop = openWorkshop();
});
afterAll(() => shop.close());

const size = 4 << 20;

/** The bytes that are read of a file with which something is done when the first of them have arrived. */
async function readWhile(change: (file: string) => void): Promise<number> {
  const file = shop.file("rows.csv");
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
test.each(changes)("is refused when it %s, since its rows may be incomplete", async (_, change) => {
  await expect(readWhile(change)).rejects.toThrow(/rows\.csv was written to while it was read; read it again when/);
});

test.each(changes)("is refused as standard input when it %s", async (_, change) => {
  const [file, go] = [shop.file("input.csv"), shop.file("go")];
  writeFileSync(file, "x".repeat(size));
  rmSync(go, { force: true });
  // Standard input is that of the process, so another one reads. It waits with its first bytes until the file has changed.
  const script = `
    import { existsSync } from "node:fs";
    import { openInput } from ${JSON.stringify(join(import.meta.dir, "../../src/commands/csv-options.ts"))};
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
  const fault = "standard input was written to while it was read; read it again when it is complete";
  expect(shown).toBe(`reading\n${fault}\n`);
});

test("is read as standard input from where another program has left it", async () => {
  const file = shop.file("titled.csv");
  writeFileSync(file, "My brands\nName\nA\n");
  await shop.must(["site", "add", "main"]);
  const wrap = (command: string) => `(read -r title; ${command}) < ${file}`;
  expect(await shop.must(["import", "brands", "--site", "main", "-"], { wrap })).toStartWith("1 rows: 1 created");
});

test("is read as it was when another takes its name", async () => {
  const next = shop.file("next.csv");
  writeFileSync(next, "y");
  expect(await readWhile((file) => renameSync(next, file))).toBe(size);
});
