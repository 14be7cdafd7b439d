// Waiting calls to the writer thread are sent together (src/store/sqlite/writer-thread.ts).

import { describe, expect, test } from "bun:test";
import { ProblemError } from "../../../../src/model/errors.ts";
import type { OperationCall } from "../../../../src/store/sqlite/messages.ts";
import { runInGroups } from "../../../../src/store/sqlite/writer-thread.ts";
import { ticks } from "../../../support/time.ts";

describe("waiting small operations", () => {
  const call = (args: unknown): OperationCall => ({ name: "acquireWebhookLease", args: [args], now: 0 });

  test("one transaction, in order, each with its own result", async () => {
    const sent: number[] = [];
    const add = runInGroups(async (calls) => {
      sent.push(calls.length);
      await ticks();
      return calls.map(({ args }) => args[0]);
    });
    const numbers = Array.from({ length: 250 }, (_, i) => i);
    expect(await Promise.all(numbers.map((n) => add(call(n))))).toEqual(numbers);
    expect(sent).toEqual([1, 100, 100, 49]);
  });

  test("database unavailable: fail together, without another try", async () => {
    let calls = 0;
    const add = runInGroups(async () => {
      calls++;
      await ticks();
      throw new ProblemError("unavailable", "the disk is full");
    });
    const results = await Promise.allSettled([add(call(1)), add(call(2)), add(call(3))]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(calls).toBe(2);
  });
});
