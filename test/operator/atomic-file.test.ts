// Files that commands write are either complete and on disk, or absent.

import { afterEach, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFile } from "../../src/operator/files/atomic-file.ts";

let folder: string;
let file: string;
let flush: Mock<FileHandle["sync"]>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-output-"));
  file = join(folder, "x.csv");
  const handle = await open(folder, "r");
  flush = spyOn(Object.getPrototypeOf(handle) as FileHandle, "sync");
  await handle.close();
});
afterEach(() => {
  flush.mockRestore();
  rmSync(folder, { recursive: true, force: true });
});

async function* content(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

test("output file: flushed before it's given its name, and its folder before the write is reported", async () => {
  const seen: string[][] = [];
  flush.mockImplementation(async () => {
    seen.push(readdirSync(folder));
  });
  await writeFile(file, content("a", "b"));
  expect(seen).toEqual([[expect.stringMatching(/^x\.csv\..*part$/)], ["x.csv"]]);
  expect(readFileSync(file, "utf8")).toBe("ab");
});

test.each([
  ["no file", false],
  ["an earlier file", true],
])("output file: if it can't be flushed, leaves %s of this name", async (_, isThere) => {
  if (isThere) writeFileSync(file, "before");
  flush.mockImplementation(async () => {
    throw new Error("EIO: i/o error, fsync");
  });
  const thrown = await writeFile(file, content("a")).catch((error) => error);
  expect(thrown).toMatchObject({ code: "unavailable", message: expect.stringContaining("EIO") });
  expect(readdirSync(folder)).toEqual(isThere ? ["x.csv"] : []);
  if (isThere) expect(readFileSync(file, "utf8")).toBe("before");
});

test("output file: if its content fails halfway, no part stays", async () => {
  async function* failing() {
    yield "a".repeat(100_000);
    throw new Error("the database went away");
  }
  const thrown = await writeFile(file, failing()).catch((error) => error);
  expect(thrown).toMatchObject({ code: "unavailable" });
  expect([existsSync(file), readdirSync(folder)]).toEqual([false, []]);
});
