import { afterAll, beforeAll, expect, test } from "bun:test";
import { engines } from "../support/engines.ts";
import { deliverUnderKills } from "../support/killed-deliveries.ts";

beforeAll(async () => {
  for (const kind of engines) await kind.open();
});
afterAll(async () => {
  for (const kind of engines) await kind.close();
});

// At the same time, since most of it is waiting for a lease to end.
test("when the process that delivers is killed under load, another goes on: in order, nothing missing", async () => {
  const figures = await Promise.all(
    engines.map(async (kind) => deliverUnderKills(await kind.newDatabase(), { changes: 1000, kills: 1 })),
  );
  for (const { pauses, repeats } of figures) {
    expect(pauses).toHaveLength(1);
    // 30 seconds are promised, which the simulation checks; this machine may be busy.
    expect(pauses[0]).toBeLessThan(45_000);
    // The page whose response the killed process did not get.
    expect(repeats).toBe(1);
  }
}, 120_000);
