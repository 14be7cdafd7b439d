// Waiting callers share a call (src/lib/concurrency.ts).

import { expect, test } from "bun:test";
import { coalesceCalls } from "../../../src/lib/concurrency.ts";
import { ticks } from "../../support/time.ts";

test("coalesced calls: callers share the next call, one at a time", async () => {
  const begun: PromiseWithResolvers<number>[] = [];
  const call = coalesceCalls(() => {
    begun.push(Promise.withResolvers<number>());
    return (begun.at(-1) as PromiseWithResolvers<number>).promise;
  });
  const first = call();
  await ticks();
  const others = [call(), call(), call()];
  await ticks();
  expect(begun).toHaveLength(1);
  begun[0]?.reject(new Error("failed"));
  await expect(first).rejects.toThrow("failed");
  await ticks();
  expect(begun).toHaveLength(2);
  begun[1]?.resolve(2);
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
  const last = call();
  await ticks();
  begun[2]?.resolve(3);
  expect(await last).toBe(3);
});
