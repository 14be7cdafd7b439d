// The console's open imports: file limits, and folders left by killed servers.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenImport, OpenImports } from "../../../src/admin/open-imports.ts";
import { brand } from "../../../src/resources/brand.ts";

const minute = 60_000;
const now = Date.now();
let imports: OpenImports;
beforeEach(() => {
  imports = new OpenImports(
    () => now,
    (error) => {
      throw error;
    },
  );
});
afterEach(() => imports.stop());

test("import file: at most 256 MiB", () => {
  const opened = imports.openImport({ operator: 1, site: 1, systemEpoch: "a" }, brand, "supplier.csv");
  const parts: number[] = [];
  const ofSize = (size: number) =>
    ({
      ...opened,
      job: { ...opened.job, state: "new", progress: { rows: 0 }, upload: { size, add: (n: number) => parts.push(n) } },
    }) as unknown as OpenImport;
  imports.add(ofSize(256 * 2 ** 20 - 1), 7, new Uint8Array(1));
  expect(parts).toEqual([7]);
  expect(() => imports.add(ofSize(256 * 2 ** 20), 8, new Uint8Array(1))).toThrow(
    "the file is larger than 256 MiB; split it",
  );
  expect(parts).toEqual([7]);
});

test("first import: removes killed processes' folders over an hour old", async () => {
  const killed = Bun.spawn(["true"]);
  await killed.exited;
  const folder = (pid: number, name: string, ageMinutes: number) => {
    const path = join(tmpdir(), `storefront-imports-${pid}-${name}`);
    mkdirSync(path);
    utimesSync(path, new Date(now), new Date(now - ageMinutes * minute));
    return path;
  };
  const folders = [folder(killed.pid, "old", 61), folder(killed.pid, "new", 59), folder(process.ppid, "in-use", 61)];
  try {
    imports.openImport({ operator: 1, site: 1, systemEpoch: "a" }, brand, "supplier.csv");
    expect(folders.map(existsSync)).toEqual([false, true, true]);
  } finally {
    for (const path of folders) rmSync(path, { recursive: true, force: true });
  }
});
