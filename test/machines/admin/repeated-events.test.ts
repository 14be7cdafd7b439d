// Refused sign-ins and other events that can be repeated at will: what a flood of them stores.

import { expect, test } from "bun:test";
import { RepeatedEvents } from "../../../src/admin/repeated-events.ts";
import type { Intent } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";

/** The event in each commit. It has two intents, of which the second makes the entry if the record exists. */
function recorder() {
  const commits: { readonly actor: string; readonly values: Record<string, string> }[] = [];
  const engine: Pick<Engine, "commit"> = {
    commit: async (intents: readonly Intent[]) => {
      const updates = intents.filter(({ operation }) => operation === "update");
      commits.push(...updates.map(({ actor, valuesJson }) => ({ actor, values: JSON.parse(valuesJson) })));
      return [];
    },
  };
  const warnings: unknown[] = [];
  const log = { warn: (warning: unknown) => void warnings.push(warning) };
  return { commits, warnings, engine, events: new RepeatedEvents(engine, { now: () => 0, log }) };
}

test("a flood of refused sign-ins makes 10 entries at once, and one at the end of the minute", async () => {
  const { commits, events } = recorder();
  for (let n = 0; n < 10_000; n++)
    await events.add({ kind: "refused-sign-in", address: `192.0.2.${n % 250}` }, "console");
  expect(commits.map(({ values }) => values.Address)).toEqual(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `192.0.2.${n}`),
  );
  await events.endMinute();
  expect(commits.slice(10)).toMatchObject([
    { actor: "console", values: { Kind: "refused-sign-in", Count: "9990", Address: "" } },
  ]);
  const known = { kind: "refused-sign-in", detail: "single-sign-on: no_access", name: "eve" } as const;
  for (let n = 0; n < 20; n++) await events.add({ kind: "refused-sign-in" }, "console");
  await events.add(known, "console");
  expect(commits.at(-1)?.values).toMatchObject({ Name: "eve" });
  await events.endMinute();
  commits.splice(11);
  await events.add({ kind: "refused-sign-in" }, "console");
  await events.endMinute();
  expect(commits.slice(11).map(({ values }) => values.Count)).toEqual([""]);
});

test("an operator who tries everything doesn't hide what they export, or what others do", async () => {
  const { commits, events } = recorder();
  const eve = { operator: 7, address: "198.51.100.7" };
  for (let n = 0; n < 500; n++) await events.add({ kind: "refused-action", ...eve, name: `GET /${n}` }, "console:eve");
  await events.add({ kind: "export", ...eve, name: "all.csv" }, "console:eve", "k3f9a1Xb");
  await events.add({ kind: "refused-action", operator: 8, name: "GET /keys" }, "console:ben");
  expect(commits.slice(10)).toMatchObject([
    { actor: "console:eve", values: { Kind: "export", Name: "all.csv" } },
    { actor: "console:ben", values: { Name: "GET /keys" } },
  ]);
  await events.endMinute();
  expect(commits.slice(12)).toMatchObject([
    { actor: "console:eve", values: { Kind: "refused-action", Operator: "7", Name: "", Count: "490" } },
  ]);
});

test("a failure to record is logged, and doesn't fail the request", async () => {
  const { warnings, events, engine } = recorder();
  engine.commit = async () => Promise.reject(new Error("disk full"));
  await events.add({ kind: "refused-sign-in" }, "console");
  expect(warnings).toEqual([{ reason: "disk full" }]);
  await events.endMinute();
});
