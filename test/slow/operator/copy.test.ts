// `storefront copy` moves a site from one database to another, and back.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Intent } from "../../../src/model/change.ts";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { isEmpty } from "../../../src/operator/backup/backup.ts";
import { type CopyProgress, copyDatabase } from "../../../src/operator/backup/copy.ts";
import { allResources } from "../../../src/resources/all.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { type CallOptions, call, startTestServer } from "../../support/http/server.ts";
import { openDatabases } from "../../support/postgres/databases.ts";
import { runOnTerminal, runProgram, startProcess } from "../../support/programs/processes.ts";

let files = 0;
const folder = mkdtempSync(join(tmpdir(), "storefront-copy-"));
const server = await openDatabases();
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

const fileUrl = (name: string) => `sqlite:${join(folder, name)}`;

test("a site moves to PostgreSQL and back with everything: records, IDs, keys, journal and idempotency keys", async () => {
  const first = await startTestServer({ settings: { DATABASE: fileUrl("first.db") } });
  const headers = { "Idempotency-Key": "order 'one'" };
  const made = await first.call("POST", "/restapi/brands.json", { body: { Name: "Ça va? 日本" }, headers });
  await first.call("POST", "/restapi/brands.json", { body: { Name: "gone" } });
  await first.call("DELETE", "/restapi/brands/2.json");
  await first.stop();
  const database = ["--database", fileUrl("first.db")];
  await runProgram(["site", "add", "other", ...database]);
  await runProgram(["site", "set", "other", "--suspend", ...database]);

  const there = await server.createDatabase();
  const copied = await runProgram(["copy", "--from", fileUrl("first.db"), "--to", there]);
  expect(copied).toMatchObject({ status: 0, stdout: "" });
  expect(copied.stderr).toMatch(/copied \d+ rows and verified that both databases match/);
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

test("copy rejects a target that isn't empty, or an empty source", async () => {
  const full = await startTestServer({ settings: { DATABASE: fileUrl("full.db") } });
  await full.stop();
  const before = await rowsOf(fileUrl("full.db"));
  const rejected = await runProgram(["copy", "--from", fileUrl("full.db"), "--to", fileUrl("full.db")]);
  expect(rejected).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("the target isn't empty") });
  expect(await rowsOf(fileUrl("full.db"))).toEqual(before);
  const empty = await runProgram(["copy", "--from", await server.createDatabase(), "--to", fileUrl("new.db")]);
  expect(empty).toMatchObject({ status: 1, stderr: expect.stringContaining("the source is empty") });
  const typo = await runProgram(["copy", "--from", fileUrl("typo.db"), "--to", await server.createDatabase()]);
  expect(typo).toMatchObject({ status: 1, stderr: expect.stringContaining("no database at") });
});

test("copy shows its progress", async () => {
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

test("copy on a terminal shows a progress bar from 0 to 100 %", async () => {
  const from = await openEngine(fileUrl("shown.db"), allResources);
  await from.commit([createIntent()]);
  await from.close();
  const { status, shown } = await runOnTerminal(["copy", "--from", fileUrl("shown.db"), "--to", fileUrl("shown-2.db")]);
  expect(status).toBe(0);
  expect(shown).toMatch(/copying \[-+\] 0%.*comparing \[=+\] 100%.*copied 3 rows/s);
});

describe("copy when the target differs from the source at the end", () => {
  const brands = Array.from({ length: 3 }, () => createIntent());
  const alterations: [string, (to: Engine) => Promise<unknown>][] = [
    ["a changed record", (to) => replaceWith(to, "records", (rows) => rows.map((row) => ({ ...row, body: "{}" })))],
    ["no first record", (to) => replaceWith(to, "records", (rows) => rows.slice(1))],
    ["no first change", (to) => replaceWith(to, "journal", (rows) => rows.slice(1))],
    ["no rows", (to) => to.replaceAllData(none())],
  ];
  test.each(alterations)("fails and empties the target if it has %s", async (_, alter) => {
    const { from, to, copy } = await openPair(brands);
    const thrown = await copy(alter).catch((error) => error);
    expect(thrown).toMatchObject({ code: "unavailable", message: expect.stringMatching(/was deleted; try again/) });
    expect(await isEmpty(to)).toBe(true);
    await from.close();
    await to.close();
  });

  test("fails and keeps what a client wrote to the target", async () => {
    const { from, to, copy } = await openPair(brands);
    const thrown = await copy(() => to.commit([createIntent({ values: { Name: "Written" } })])).catch((error) => error);
    expect(thrown).toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/another process wrote to the target at the same time/),
    });
    const { rows } = await readAllRows(to, 1);
    expect(rows.map(({ body }) => JSON.parse(body as string).Name)).toEqual(["Acme", "Acme", "Acme", "Written"]);
    await from.close();
    await to.close();
  });

  test("succeeds if only a key's time of last use differs", async () => {
    const { from, to, copy } = await openPair(brands);
    expect(await copy(() => to.saveKeyUses(new Map([[1, 1]])))).toBe(7);
    expect([...(await to.readLastKeyUses())]).toEqual([[1, 1]]);
    await from.close();
    await to.close();
  });
});

test("copy keeps a write to the target before the copy is in place", async () => {
  const { from, to } = await openPair([createIntent()]);
  let isWritten = false;
  async function* dump() {
    yield* from.dump();
    if (isWritten) await to.commit([createIntent({ values: { Name: "Written" } })]);
    isWritten = true;
  }
  const thrown = await copyDatabase({ ...from, dump }, to).catch((error) => error);
  expect(thrown).toMatchObject({ code: "conflict", message: expect.stringMatching(/the next `restore` will save it/) });
  const kept: string[] = [];
  await to.replaceAllData(none(), async (rows) => {
    kept.push(JSON.stringify(await Array.fromAsync(rows)));
  });
  expect(kept[0]).toContain("Written");
  await from.close();
  await to.close();
});

/** A database with the records of `intents`, and an empty one to copy to. Calls `alter` before the copy is verified. */
async function openPair(intents: readonly Intent[]) {
  const from = await openEngine(fileUrl(`${++files}.db`), allResources);
  await from.commit(intents);
  const to = await openEngine(fileUrl(`${++files}.db`), allResources);
  const copy = (alter: (to: Engine) => Promise<unknown>) => {
    let dumps = 0;
    async function* dump() {
      if (++dumps === 2) await alter(to);
      yield* to.dump();
    }
    return copyDatabase(from, { ...to, dump });
  };
  return { from, to, copy };
}

type Rows = DumpedRow["row"][];

async function replaceWith(engine: Engine, table: string, change: (rows: Rows) => Rows): Promise<void> {
  const all = await Array.fromAsync(engine.dump());
  const changed = change(all.filter((row) => row.table === table).map(({ row }) => row));
  await engine.replaceAllData(
    (async function* () {
      yield* all.filter((row) => row.table !== table);
      for (const row of changed) yield { table, row };
    })(),
  );
}

async function* none(): AsyncGenerator<DumpedRow> {}

async function rowsOf(url: string): Promise<unknown[]> {
  const engine = await openEngine(url, allResources);
  const rows: DumpedRow[] = [];
  // A copy also names its source, and each database has the copies in its audit log.
  const isOfCopy = ({ table, row }: DumpedRow) =>
    row.kind === "copied" || row.resource === "event" || (table === "sites" && row.id === systemSite);
  for await (const row of engine.dump())
    if (!isOfCopy(row)) rows.push({ ...row, row: { ...row.row, ...("epoch" in row.row ? { epoch: "" } : {}) } });
  await engine.close();
  return rows;
}
