import { describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { ProblemError } from "../../src/model/errors.ts";
import type { OperationCall } from "../../src/store/sqlite/writer.ts";
import { runInBatches } from "../../src/store/sqlite/writer-thread.ts";
import { engines, useEngine } from "../support/engines.ts";
import { webhookSecret, webhookState } from "../support/webhooks.ts";

describe.each(engines)("many writes of webhooks at once on $name", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });

  test("each has its own result, and an operation with an error fails alone", async () => {
    const keys = Array.from({ length: 150 }, (_, i) => ({ site: 1, webhook: i + 1 }));
    await Promise.all(keys.map((key) => engine.saveWebhook(webhookState(key), [webhookSecret()])));
    const results = await Promise.allSettled(
      keys.map((key, i) =>
        i === 70
          ? engine.compareAndSetWebhook(key, { cursor: "0.0", rewinds: 0, resumes: 0 }, { nextAt: 0.5 })
          : engine.compareAndSetWebhook(
              key,
              { cursor: i % 2 === 0 ? "0.0" : "another", rewinds: 0, resumes: 0 },
              { nextAt: i },
            ),
      ),
    );
    const expected = keys.map((_, i) => (i === 70 ? "rejected" : i % 2 === 0));
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : result.status))).toEqual(expected);
    const states = await engine.webhookStates(keys);
    expect(states.map(({ nextAt }) => nextAt)).toEqual(keys.map((_, i) => (i % 2 === 0 && i !== 70 ? i : 0)));
  });
});

describe("small operations that wait", () => {
  const call = (args: unknown): OperationCall => ({ name: "acquireWebhookLease", args: [args], now: 0 });

  test("form one transaction, in order, and get their own results", async () => {
    const sent: number[] = [];
    const add = runInBatches(async (calls) => {
      sent.push(calls.length);
      await Bun.sleep(1);
      return calls.map(({ args }) => args[0]);
    });
    const numbers = Array.from({ length: 250 }, (_, i) => i);
    expect(await Promise.all(numbers.map((n) => add(call(n))))).toEqual(numbers);
    expect(sent).toEqual([1, 100, 100, 49]);
  });

  test("fail together when the database is unavailable, without another try", async () => {
    let calls = 0;
    const add = runInBatches(async () => {
      calls++;
      await Bun.sleep(1);
      throw new ProblemError("unavailable", "the disk is full");
    });
    const results = await Promise.allSettled([add(call(1)), add(call(2)), add(call(3))]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(calls).toBe(2);
  });
});
