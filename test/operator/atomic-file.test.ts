// Files that commands write: complete and on the disk, or absent.

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

test("a file is flushed before it gets its name, and its folder is flushed before the file is reported as written", async () => {
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
])("a file that cannot be flushed is not written, and leaves %s of this name", async (_, isThere) => {
  if (isThere) writeFileSync(file, "before");
  flush.mockImplementation(async () => {
    throw new Error("EIO: i/o error, fsync");
  });
  const thrown = await writeFile(file, content("a")).catch((error) => error);
  expect(thrown).toMatchObject({ code: "unavailable", message: expect.stringContaining("EIO") });
  expect(readdirSync(folder)).toEqual(isThere ? ["x.csv"] : []);
  if (isThere) expect(readFileSync(file, "utf8")).toBe("before");
});

test("a file whose content fails halfway is not written, and no part of it stays", async () => {
  async function* failing() {
    yield "a".repeat(100_000);
    throw new Error("the database went away");
  }
  const thrown = await writeFile(file, failing()).catch((error) => error);
  expect(thrown).toMatchObject({ code: "unavailable" });
  expect([existsSync(file), readdirSync(folder)]).toEqual([false, []]);
});
