// The size of SQLite's log (`-wal`).

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { logLimit } from "../../../src/store/sqlite/database.ts";
import { createIntent } from "../../support/engine/intents.ts";

let folder: string;
let engine: Engine;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-log-"));
  engine = await openEngine(`sqlite:${join(folder, "test.db")}`, allResources);
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const logSize = () => statSync(join(folder, "test.db-wal")).size;
const create = (Name: string) => createIntent({ values: { Name } });
/** Each record is stored twice: in its table and in the journal. */
const large = Array.from({ length: 16 }, () => create("x".repeat(logLimit / 16)));

test("log: shrinks with writes after a very large transaction", async () => {
  await engine.commit(large);
  expect(logSize()).toBeGreaterThan(logLimit * 1.5);
  for (let i = 0; i < 3; i++) await engine.commit([create("small")]);
  expect(logSize()).toBeLessThanOrEqual(logLimit);
});

test("log: doesn't grow with large runs in a row, although their checkpoints are postponed", async () => {
  const size = 4000;
  const commit = () =>
    engine.commitAtomically([Array.from({ length: size }, () => create("x"))], () => {}, { run: { id: "run", size } });
  await commit();
  const before = logSize();
  await commit();
  await commit();
  expect(logSize()).toBeLessThan(1.5 * before);
});

test("log: shrinks with writes after a long read", async () => {
  await engine.commit([create("first"), create("second")]);
  const reading = (engine.dump() as Iterable<DumpedRow>)[Symbol.iterator]();
  reading.next();
  for (const intent of large) await engine.commit([intent]);
  expect(logSize()).toBeGreaterThan(logLimit * 1.5);
  while (!reading.next().done);
  for (let i = 0; i < 3; i++) await engine.commit([create("small")]);
  expect(logSize()).toBeLessThanOrEqual(logLimit);
});

test("runtime's SQLite: no WAL-reset bug, so a checkpoint during a commit drops no pages (sqlite.org/wal.html#walresetbug)", () => {
  const database = new Database(":memory:");
  const { version } = database.query("select sqlite_version() as version").get() as { version: string };
  database.close();
  expect(Bun.semver.order(version, "3.51.3")).toBeGreaterThanOrEqual(0);
});
