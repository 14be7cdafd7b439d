// The snapshots' memory budget, without a cache: what counts as room for another site.

import { expect, test } from "bun:test";
import { systemSite } from "../../../../src/model/system-site.ts";
import { MemoryBudget } from "../../../../src/store/reads/memory-budget.ts";

const budget = 1000;
const snapshotOf = (siteId: number, bytes: number) =>
  ({ siteId, estimateBytes: () => bytes }) as Parameters<MemoryBudget["touch"]>[0];

test("memory budget: nine tenths, less the system site and sites in use", () => {
  const memory = new MemoryBudget(budget);
  expect([memory.hasRoomFor(900), memory.hasRoomFor(901)]).toEqual([true, false]);
  memory.touch(snapshotOf(systemSite, 100));
  expect([memory.hasRoomFor(800), memory.hasRoomFor(801)]).toEqual([true, false]);
  memory.touch(snapshotOf(1, 300));
  expect([memory.hasRoomFor(500), memory.hasRoomFor(501)]).toEqual([true, false]);
});
