// Rewritten files and flushed folders. `npm run check:crash` shows why they matter after a power loss.

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flushFolders, rewriteFile } from "../../../src/store/sqlite/database.ts";

const folder = mkdtempSync(join(tmpdir(), "storefront-durable-"));

test("rewritten file: same bytes, same file", () => {
  const file = join(folder, "log");
  const bytes = Buffer.alloc(2_500_000, "the bytes of a log");
  writeFileSync(file, bytes);
  utimesSync(file, 1, 1);
  const before = statSync(file);
  rewriteFile(file);
  const after = statSync(file);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect([after.ino, after.size]).toEqual([before.ino, before.size]);
  expect(after.mtimeMs).toBeGreaterThan(before.mtimeMs);
});

test("flushing folders: a new one and all above it; a missing one is an error", () => {
  const path = join(folder, "new", "data");
  mkdirSync(path, { recursive: true });
  flushFolders(path);
  rmSync(folder, { recursive: true });
  expect(() => flushFolders(path)).toThrow("ENOENT");
});
