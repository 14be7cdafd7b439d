// Each key's last use: when a server stores it, and what happens if the database fails.

import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { KeyUseTracker } from "../../../../src/http/authorization/key-use-tracker.ts";
import type { Engine } from "../../../../src/model/engine.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { openSqliteFile } from "../../../support/engine/sqlite-file.ts";

let folder: string;
let engine: Engine;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-key-uses-"));
  engine = await openEngine(`sqlite:${join(folder, "test.db")}`, allResources);
});
afterEach(async () => {
  jest.useRealTimers();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

test("last use: stored every half minute and when the server stops", async () => {
  jest.useFakeTimers();
  const uses = new KeyUseTracker({ engine, log: pino({ level: "silent" }) });
  /** Returns the stored times after all calls to the database have ended. */
  const stored = async () => {
    await engine.saveKeyUses(new Map([[9, 9]]));
    return Object.fromEntries(await engine.readLastKeyUses());
  };
  uses.trackUse(1, 1000);
  uses.trackUse(2, 1001);
  uses.trackUse(1, 1002);
  jest.advanceTimersByTime(29_999);
  expect(await stored()).toEqual({ 9: 9 });
  expect(uses.latestUses([1, 2, 3])).toEqual([[1, 1002] as const, [2, 1001] as const]);
  jest.advanceTimersByTime(1);
  // They may still be on their way to the database.
  expect(uses.latestUses([1, 2, 3])).toEqual([[1, 1002] as const, [2, 1001] as const]);
  expect(await stored()).toEqual({ 1: 1002, 2: 1001, 9: 9 });
  uses.trackUse(2, 40_000);
  jest.advanceTimersByTime(30_000);
  expect(await stored()).toEqual({ 1: 1002, 2: 40_000, 9: 9 });
  jest.advanceTimersByTime(30_000);
  expect(uses.latestUses([1, 2])).toEqual([]);
  uses.trackUse(1, 70_000);
  await uses.stop();
  expect(await stored()).toEqual({ 1: 70_000, 2: 40_000, 9: 9 });
  uses.trackUse(1, 80_000);
  jest.advanceTimersByTime(60_000);
  expect(await stored()).toEqual({ 1: 70_000, 2: 40_000, 9: 9 });
});

describe("last use, database failure", () => {
  let logged: string[];
  let uses: KeyUseTracker;
  beforeEach(() => {
    logged = [];
    const log = pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line).msg) });
    uses = new KeyUseTracker({ engine, log });
    uses.trackUse(1, 1000);
  });
  const breakStore = () => {
    using database = openSqliteFile(join(folder, "test.db"));
    database.run("drop table key_uses");
  };

  test("logged, and doesn't keep the server from stopping", async () => {
    breakStore();
    await uses.stop();
    expect(logged).toEqual(["couldn't save when keys were last used"]);
  });

  test("doesn't matter if nothing has changed", async () => {
    await uses.stop();
    breakStore();
    await uses.stop();
    expect(logged).toEqual([]);
  });
});
