// What the program says about a pooler when it starts, before requests fail under load.

import { afterAll, afterEach, expect, test } from "bun:test";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { openDatabases } from "../../support/postgres/databases.ts";
import { startPooler, type TestPooler } from "../../support/postgres/pooler.ts";

let pooler: TestPooler | undefined;
const databases = await openDatabases();
afterEach(() => pooler?.stop());
afterAll(() => databases.remove());

async function open(mode: Parameters<typeof startPooler>[1], parameters = "") {
  const url = new URL(await databases.createDatabase());
  pooler = await startPooler(Number(url.port), mode);
  url.port = String(pooler.port);
  return openEngine(`${url}?sslmode=disable${parameters}`, allResources);
}

test.each([
  ["transaction", "", "`prepare=no`"],
  ["statement", "", "`pool_mode`"],
  ["statement", "&prepare=no", "`pool_mode`"],
] as const)("pooler in %s mode%s: refused, and the message names %s", async (mode, parameters, remedy) => {
  const error = await open(mode, parameters).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining(remedy) });
});

test.each([
  ["session", ""],
  ["transaction", "&prepare=no"],
] as const)("pooler in %s mode%s: commits in parallel succeed", async (mode, parameters) => {
  const engine = await open(mode, parameters);
  const writes = Array.from({ length: 20 }, (_, i) => engine.commit([createIntent({ site: 7 + (i % 4) })]));
  expect((await Promise.all(writes)).map(([outcome]) => outcome?.kind)).toEqual(Array(20).fill("done"));
  await engine.close();
});
