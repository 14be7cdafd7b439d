// A file that another program writes while a command reads it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { openInput } from "../../src/commands/input.ts";
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

test("is read as it was when another takes its name", async () => {
  const next = shop.file("next.csv");
  writeFileSync(next, "y");
  expect(await readWhile((file) => renameSync(next, file))).toBe(size);
});
