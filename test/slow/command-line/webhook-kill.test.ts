// Processes that deliver webhooks are killed while clients write.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { engines } from "../../support/engine/engines.ts";
import { deliverUnderKills } from "../../support/webhooks/killed-deliveries.ts";

beforeAll(async () => {
  for (const kind of engines) await kind.open();
});
afterAll(async () => {
  for (const kind of engines) await kind.close();
});

// Both engines run at once, because most of the test is spent waiting for a lease to end.
test("the delivering process is killed under load: another one continues in order, without gaps", async () => {
  const figures = await Promise.all(
    engines.map(async (kind) => deliverUnderKills(await kind.newDatabase(), { changes: 1000, kills: 1 })),
  );
  for (const { pauses, repeats } of figures) {
    expect(pauses).toHaveLength(1);
    // The documented maximum is 30 seconds, which the simulation checks. This machine may be busy.
    expect(pauses[0]).toBeLessThan(45_000);
    // The page whose response the killed process didn't get is repeated.
    expect(repeats).toBe(1);
  }
}, 120_000);
