// The SQLite engine closes all of a rejected database's descriptors.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";

const rejections: [string, (database: Database) => void][] = [
  ["of a newer program", (database) => database.run("pragma user_version = 99")],
  ["of another program", (database) => database.run("create table theirs (x)")],
  ["whose view cannot be made", (database) => database.run("create table brand (x); pragma user_version = 1")],
];

test.skipIf(process.platform !== "linux").each(rejections)("a rejected database %s is closed", async (_, prepare) => {
  const folder = mkdtempSync(join(tmpdir(), "storefront-descriptors-"));
  try {
    const database = new Database(join(folder, "rejected.db"));
    prepare(database);
    database.close();
    for (let i = 0; i < 10; i++) {
      await expect(openEngine(`sqlite:${join(folder, "rejected.db")}`, allResources)).rejects.toThrow();
    }
    expect(openFiles().filter((path) => path.startsWith(folder))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return [];
    }
  });
}
