// Refused sign-ins and other events that can be repeated at will: what a flood of them stores.

import { expect, test } from "bun:test";
import { RepeatedEvents } from "../../../src/admin/repeated-events.ts";
import type { Intent } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";

/** The events in each commit. Every event has two intents, of which the second makes the entry if the record exists. */
function recorder() {
  const commits: { readonly actor: string; readonly values: Record<string, string> }[][] = [];
  const engine: Pick<Engine, "commit"> = {
    commit: async (intents: readonly Intent[]) => {
      const updates = intents.filter(({ operation }) => operation === "update");
      commits.push(updates.map(({ actor, valuesJson }) => ({ actor, values: JSON.parse(valuesJson) })));
      return [];
    },
  };
  const warnings: unknown[] = [];
  const log = { warn: (warning: unknown) => void warnings.push(warning) };
  return { commits, warnings, engine, events: new RepeatedEvents(engine, { now: () => 0, log }) };
}

test("a flood of refused sign-ins makes one commit at once and one per minute", async () => {
  const { commits, events } = recorder();
  for (let n = 0; n < 10_000; n++)
    await events.add({ kind: "refused-sign-in", address: `192.0.2.${n % 3}` }, "console");
  await events.endMinute();
  expect(commits.map((commit) => commit.length)).toEqual([1, 1]);
  expect(commits[0]?.[0]).toMatchObject({ actor: "console", values: { Address: "192.0.2.0", Count: "" } });
  expect(commits[1]?.[0]?.values).toMatchObject({ Kind: "refused-sign-in", Count: "9999", Addresses: "3" });
  for (let n = 0; n < 5; n++) await events.add({ kind: "refused-sign-in", address: "192.0.2.9" }, "console");
  await events.stop();
  expect(commits[2]?.[0]?.values).toMatchObject({ Count: "5", Address: "192.0.2.9", Addresses: "" });
  expect(commits).toHaveLength(3);
});

test("after a minute without any, the next one is recorded at once again", async () => {
  const { commits, events } = recorder();
  await events.add({ kind: "refused-sign-in" }, "console");
  await events.endMinute();
  await events.add({ kind: "refused-sign-in" }, "console");
  await events.stop();
  expect(commits.map((commit) => commit.map(({ values }) => values.Count))).toEqual([[""], [""]]);
});

test("an operator who tries everything is counted as one event after the first 20, and others aren't affected", async () => {
  const { commits, events } = recorder();
  for (let n = 0; n < 500; n++)
    await events.add(
      { kind: "refused-action", operator: 7, name: `GET /${n}`, address: `198.51.100.${n % 250}` },
      "console:eve",
    );
  await events.add({ kind: "refused-action", operator: 8, name: "GET /keys" }, "console:ben");
  expect(commits).toHaveLength(22);
  expect(commits.at(-1)?.[0]).toMatchObject({ actor: "console:ben", values: { Name: "GET /keys" } });
  await events.endMinute();
  expect(commits.slice(22)).toMatchObject([
    [
      {
        actor: "console:eve",
        values: { Kind: "refused-action", Operator: "7", Name: "", Count: "479", Addresses: "100" },
      },
    ],
  ]);
  await events.stop();
});

test("many operators together can't make more than 200 events besides one for each of them", async () => {
  const { commits, events } = recorder();
  for (let operator = 1; operator <= 300; operator++)
    for (let n = 0; n < 3; n++)
      await events.add({ kind: "export", operator, name: `${n}.csv` }, `console:operator ${operator}`);
  expect(commits.length).toBeLessThanOrEqual(500);
  await events.endMinute();
  expect(commits.at(-1)?.length).toBeLessThanOrEqual(300);
  await events.stop();
});

test("a failure to record is logged, and doesn't fail the request", async () => {
  const { warnings, events, engine } = recorder();
  engine.commit = async () => Promise.reject(new Error("disk full"));
  await events.add({ kind: "refused-sign-in" }, "console");
  expect(warnings).toEqual([{ reason: "disk full" }]);
  await events.stop();
});
