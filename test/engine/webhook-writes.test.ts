// Many webhook writes at once, on each engine.

import { describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { engines, useEngine } from "../support/engine/engines.ts";
import { webhookSecret, webhookState } from "../support/webhooks/states.ts";

describe.each(engines)("many writes of webhooks at once on $name", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });

  test("each has its own result, and a failing one fails alone", async () => {
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
    const states = await engine.readWebhookStates(keys);
    expect(states.map(({ nextAt }) => nextAt)).toEqual(keys.map((_, i) => (i % 2 === 0 && i !== 70 ? i : 0)));
  });
});
