// `storefront copy`: a shop moves from one database to another, and back.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DumpedRow, Engine } from "../src/model/engine.ts";
import { isEmpty } from "../src/operator/backup.ts";
import { type CopyProgress, copyDatabase } from "../src/operator/copy.ts";
import { allResources } from "../src/resources/all.ts";
import { openEngine } from "../src/store/open.ts";
import { createIntent } from "./support/intents.ts";
import { startPostgres, type TestPostgres } from "./support/postgres.ts";
import { runProgram, startProcess } from "./support/processes.ts";
import { type CallOptions, call, startTestServer } from "./support/server.ts";

setDefaultTimeout(60_000);

let folder: string;
let server: TestPostgres;
let files = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-copy-"));
  server = await startPostgres();
});
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true });
});

const fileUrl = (name: string) => `sqlite:${join(folder, name)}`;

test("a shop moves to PostgreSQL and back with everything: records, IDs, keys, journal and idempotency keys", async () => {
  const first = await startTestServer({ settings: { DATABASE: fileUrl("first.db") } });
  const headers = { "Idempotency-Key": "order 'one'" };
  const made = await first.call("POST", "/restapi/brands.json", { body: { Name: "Ça va? 日本" }, headers });
  await first.call("POST", "/restapi/brands.json", { body: { Name: "gone" } });
  await first.call("DELETE", "/restapi/brands/2.json");
  await first.stop();

  const there = await server.createDatabase();
  const copied = await runProgram(["copy", "--from", fileUrl("first.db"), "--to", there]);
  expect(copied).toMatchObject({ status: 0, stdout: "" });
  expect(copied.stderr).toMatch(/copied \d+ rows; both databases hold the same/);
  const backAgain = await runProgram(["copy", "--from", there, "--to", fileUrl("second.db"), "--json"]);
  expect(JSON.parse(backAgain.stdout).rows).toBeGreaterThan(8);
  expect(await rowsOf(fileUrl("second.db"))).toEqual(await rowsOf(fileUrl("first.db")));
  expect(await runProgram(["check", "--database", there])).toMatchObject({ status: 0 });

  for (const DATABASE of [there, fileUrl("second.db")]) {
    const { url, end } = await startProcess({ DATABASE });
    const send = (method: string, options: CallOptions = {}) =>
      call(`${url}/restapi/brands.json`, method, { key: first.key, ...options });
    expect((await send("GET")).json).toEqual([made.json]);
    const again = await send("POST", { body: { Name: "Ça va? 日本" }, headers });
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    expect((await send("POST", { body: { Name: "next" } })).json.ID).toBe(3);
    await end();
  }
});

test("a target that is not empty, and a source that is, are refused", async () => {
  const full = await startTestServer({ settings: { DATABASE: fileUrl("full.db") } });
  await full.stop();
  const before = await rowsOf(fileUrl("full.db"));
  const refused = await runProgram(["copy", "--from", fileUrl("full.db"), "--to", fileUrl("full.db")]);
  expect(refused).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("the target is not empty") });
  expect(await rowsOf(fileUrl("full.db"))).toEqual(before);
  const empty = await runProgram(["copy", "--from", await server.createDatabase(), "--to", fileUrl("new.db")]);
  expect(empty).toMatchObject({ status: 1, stderr: expect.stringContaining("there is nothing to copy") });
  const typo = await runProgram(["copy", "--from", fileUrl("typo.db"), "--to", await server.createDatabase()]);
  expect(typo).toMatchObject({ status: 1, stderr: expect.stringContaining("there is no database") });
});

test("how far it is can be seen", async () => {
  const from = await openEngine(fileUrl("many.db"), allResources);
  for (let i = 0; i < 4; i++) await from.commit(Array.from({ length: 500 }, () => createIntent()));
  const to = await openEngine(await server.createDatabase(), allResources);
  const steps: CopyProgress[] = [];
  expect(await copyDatabase(from, to, (progress) => steps.push(progress))).toBe(4001);
  expect(new Set(steps.map(({ step }) => step))).toEqual(new Set(["counting", "copying", "comparing"]));
  expect(steps.at(-1)).toEqual({ step: "comparing", rows: 4001, total: 4001 });
  await from.close();
  await to.close();
});

describe("a target that does not hold what was sent", () => {
  const brands = Array.from({ length: 3 }, () => createIntent());
  const alterations: [string, (to: Engine) => Promise<unknown>][] = [
    ["a record more", (to) => to.commit([createIntent()])],
    ["a record changed", (to) => to.commit([createIntent({ operation: "update", id: 2, values: { Name: "Other" } })])],
    ["a time of use more", (to) => to.noteKeyUse(new Map([[1, 1]]))],
    ["nothing at all", (to) => to.refill(none())],
  ];
  test.each(alterations)("is emptied again, and the copy has failed: %s", async (_, alter) => {
    const from = await openEngine(fileUrl(`${++files}.db`), allResources);
    await from.commit(brands);
    const to = await openEngine(fileUrl(`${++files}.db`), allResources);
    let dumps = 0;
    // The second dump reads back what was written.
    async function* dump() {
      if (++dumps === 2) await alter(to);
      yield* to.dump();
    }
    const thrown = await copyDatabase(from, { ...to, dump }).catch((error) => error);
    expect(thrown).toMatchObject({ code: "unavailable", message: expect.stringMatching(/was taken back/) });
    expect(await isEmpty(to)).toBe(true);
    await from.close();
    await to.close();
  });
});

async function* none(): AsyncGenerator<DumpedRow> {}

async function rowsOf(url: string): Promise<unknown[]> {
  const engine = await openEngine(url, allResources);
  const rows: DumpedRow[] = [];
  for await (const row of engine.dump())
    rows.push({ ...row, row: { ...row.row, ...("epoch" in row.row ? { epoch: "" } : {}) } });
  await engine.close();
  return rows;
}
