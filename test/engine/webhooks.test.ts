// What every engine does for webhooks (src/model/webhooks.ts).

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { maxWebhookAttempts, type WebhookState } from "../../src/model/webhooks.ts";
import { allResources } from "../../src/resources/all.ts";
import { columnsOf, isText, primaryKeyOf, type TableName } from "../../src/store/database/tables.ts";
import { openEngine } from "../../src/store/open.ts";
import { engineKinds, testIf } from "../support/engine/engines.ts";
import { createIntent, deleteSiteRecord } from "../support/engine/intents.ts";
import { waitUntil } from "../support/time.ts";
import { webhookSecret, webhookState } from "../support/webhooks/states.ts";

const child = fileURLToPath(new URL("../support/webhooks/move-webhook.ts", import.meta.url));

describe.each(engineKinds)("on $name", (kind) => {
  let engine: Engine;
  let other: Engine;
  let url: string;
  const opened: Engine[] = [];
  const open = async (address: string, clock?: () => number) => {
    const another = await openEngine(address, allResources, clock ? { clock } : {});
    opened.push(another);
    return another;
  };
  beforeAll(async () => {
    await kind.open();
    url = await kind.newDatabase();
    [engine, other] = [await open(url), await open(url)];
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
    await kind.close();
  });

  /** Stores a webhook that no other test has. */
  let webhooks = 0;
  const put = async (values: Parameters<typeof webhookState>[0] = {}) => {
    const state = webhookState({ site: 7, webhook: ++webhooks, ...values });
    await engine.saveWebhook(state, [webhookSecret()]);
    return state;
  };

  test("state: returned as stored, alone and among all", async () => {
    const page = { first: 3, last: 9, since: "a", goneAt: 8 } as const;
    const state = await put({ ...page, failingSince: 5, resumes: 2, holder: "h", leaseUntil: 2 ** 41 });
    const second = await put({ site: 3, cursor: "b" });
    expect(await other.readWebhookStates([state])).toEqual([state]);
    expect(await other.readWebhookStates([state, second, { site: 1, webhook: state.webhook }])).toEqual([
      second,
      state,
    ]);
    expect(await other.readWebhookStates([])).toEqual([]);
    expect(await other.readWebhookStates()).toContainEqual(second);
  });

  test("lease: one process acquires and renews it, and it's free once it ends", async () => {
    const state = await put();
    const lease = 60_000;
    const first = await engine.acquireWebhookLease(state, "one", lease);
    expect(first).toEqual({ ...state, holder: "one", leaseUntil: first?.leaseUntil as number });
    expect(await other.acquireWebhookLease(state, "two", lease)).toBeUndefined();
    const renewed = await engine.acquireWebhookLease(state, "one", 2 * lease);
    expect(renewed?.leaseUntil).toBeGreaterThan(first?.leaseUntil as number);
    expect(await engine.compareAndSetWebhook(state, { ...state, holder: "one" }, { holder: null, leaseUntil: 0 })).toBe(
      true,
    );
    const short = await other.acquireWebhookLease(state, "two", 1);
    expect(short).toMatchObject({ holder: "two" });
    await waitForEnd(short);
    expect(await engine.acquireWebhookLease(state, "one", lease)).toMatchObject({ holder: "one" });
    expect(await engine.acquireWebhookLease({ ...state, webhook: 999 }, "one", lease)).toBeUndefined();
    expect(await engine.acquireWebhookLease({ ...state, site: 999 }, "one", lease)).toBeUndefined();
  });

  test("lease: free if a wrong clock made it longer than any lease", async () => {
    const year = 365 * 24 * 60 * 60_000;
    const state = await put({ holder: "one", leaseUntil: Date.now() + year });
    expect(await other.acquireWebhookLease(state, "two", 60_000)).toMatchObject({ holder: "two" });
    expect(await engine.acquireWebhookLease(state, "one", 60_000)).toBeUndefined();
  });

  test("lease: only one of many processes gets it", async () => {
    const state = await put();
    const acquisitions = Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? engine : other).acquireWebhookLease(state, `${i}`, 60_000),
    );
    const won = (await Promise.all(acquisitions)).filter((state) => state !== undefined);
    expect(won).toHaveLength(1);
  });

  test("change: needs the expected cursor, rewinds, resumes and lease", async () => {
    const state = await put({ cursor: "a", rewinds: 2, resumes: 3 });
    const expected = { cursor: "a", rewinds: 2, resumes: 3 };
    const moves: [string, Parameters<Engine["compareAndSetWebhook"]>[1], boolean][] = [
      ["another cursor", { ...expected, cursor: "b" }, false],
      ["another rewind", { ...expected, rewinds: 1 }, false],
      ["another resume", { ...expected, resumes: 2 }, false],
      ["a lease that it does not have", { ...expected, holder: "one" }, false],
      ["no lease asked for", expected, true],
    ];
    for (const [what, given, isDone] of moves) {
      const values = { nextAt: 5, failingSince: 4, goneAt: 3 } as const;
      expect([what, await engine.compareAndSetWebhook(state, given, values)]).toEqual([what, isDone]);
    }
    expect(await engine.readWebhookStates([state])).toEqual([{ ...state, nextAt: 5, failingSince: 4, goneAt: 3 }]);
    await waitForEnd(await engine.acquireWebhookLease(state, "one", 1));
    expect(await engine.compareAndSetWebhook(state, { ...expected, holder: "one" }, { cursor: "late" })).toBe(false);
    await engine.acquireWebhookLease(state, "one", 60_000);
    expect(await other.compareAndSetWebhook(state, { ...expected, holder: "two" }, { cursor: "stolen" })).toBe(false);
    expect(await other.compareAndSetWebhook(state, { ...expected, holder: "one" }, { cursor: "c" })).toBe(true);
    expect(await engine.compareAndSetWebhook({ site: 7, webhook: 999 }, expected, { cursor: "c" })).toBe(false);
  });

  test("cursor: two processes make every move once", async () => {
    const address = await kind.newDatabase();
    const one = await open(address);
    await one.saveWebhook(webhookState({ cursor: "0" }), []);
    const run = () => new Response(Bun.spawn([process.execPath, child, address, "60"], { stderr: "inherit" }).stdout);
    const made = await Promise.all([run(), run()].map(async (output) => (await output.json()) as number[]));
    expect(made.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect((await one.readWebhookStates())[0]?.cursor).toBe("60");
  });

  test("attempts: last hundred, latest first", async () => {
    const state = await put();
    const attempt = (at: number) => ({
      at,
      status: at % 2 ? 500 : null,
      milliseconds: 3,
      fault: at % 2 ? null : "no",
    });
    for (let at = 1; at <= maxWebhookAttempts + 3; at++) await engine.addWebhookAttempt(state, attempt(at));
    await Promise.all([0, 1, 2].map((i) => (i % 2 ? engine : other).addWebhookAttempt(state, attempt(200))));
    const kept = await other.readWebhookAttempts(state);
    expect(kept).toHaveLength(maxWebhookAttempts);
    expect(kept[3]).toEqual({ number: maxWebhookAttempts + 3, ...attempt(maxWebhookAttempts + 3) });
    expect(kept.at(-1)).toEqual({ number: 7, ...attempt(7) });
    await engine.addWebhookAttempt({ site: 7, webhook: 999 }, attempt(1));
    expect(await engine.readWebhookAttempts({ site: 7, webhook: 999 })).toEqual([]);
  });

  test("attempts: the latest of all a site's webhooks in one read", async () => {
    const attempt = (at: number) => ({ at, status: 200, milliseconds: 3, fault: null });
    const [one, two] = [await put({ site: 70 }), await put({ site: 70 })];
    for (const at of [1, 2, 3]) await engine.addWebhookAttempt(one, attempt(at));
    await engine.addWebhookAttempt(two, attempt(9));
    expect([...(await other.readLatestAttempts(one.site, 2))].sort(([a], [b]) => a - b)).toEqual([
      [one.webhook, [3, 2].map((at) => ({ number: at, ...attempt(at) }))],
      [two.webhook, [{ number: 1, ...attempt(9) }]],
    ]);
    expect((await engine.readLatestAttempts(999, 2)).size).toBe(0);
  });

  test("attempts: last 20 with requests and responses, any characters", async () => {
    const state = await put();
    const message = { headers: [["a", "\u0000ÿ"]] as const, body: "\u0000\ud800 ü 𝄞", isText: true, bytes: 9 };
    const exchange = { url: "https://erp.example/", request: message, response: null };
    const attempt = { at: 1, status: null, milliseconds: 1, fault: "no" };
    await engine.addWebhookAttempt(state, attempt);
    for (let number = 2; number <= 22; number++)
      await engine.addWebhookAttempt(state, attempt, { ...exchange, url: `${exchange.url}${number}` });
    const kept = async (number: number) => (await other.readWebhookExchange(state, number))?.url;
    expect(await other.readWebhookExchange(state, 22)).toEqual({ ...exchange, url: "https://erp.example/22" });
    expect([await kept(1), await kept(2), await kept(3), await kept(23)]).toEqual([
      undefined,
      undefined,
      "https://erp.example/3",
      undefined,
    ]);
    expect((await other.readWebhookAttempts(state, 2)).map(({ number }) => number)).toEqual([22, 21]);
    expect(await other.readWebhookAttempts(state)).toHaveLength(22);
  });

  test("secrets: current and previous, even if several are added at once", async () => {
    const state = await put();
    expect(await engine.rotateWebhookSecret(state, "whsec_two", 9, 99)).toBe(true);
    expect(await other.readWebhookSecrets(state)).toEqual([
      { secret: "whsec_two", createdAt: 9, until: null },
      webhookSecret({ until: 99 }),
    ]);
    await Promise.all(
      [0, 1, 2, 3].map((i) => (i % 2 ? engine : other).rotateWebhookSecret(state, `whsec_${i}`, 9, 100)),
    );
    const kept = await other.readWebhookSecrets(state);
    expect(kept.map(({ createdAt, until }) => [createdAt, until])).toEqual([
      [13, null],
      [12, 100],
    ]);
    expect(await engine.rotateWebhookSecret({ site: 7, webhook: 999 }, "whsec_", 1, 2)).toBe(false);
    expect(await engine.readWebhookSecrets({ site: 7, webhook: 999 })).toEqual([]);
  });

  test("saved or removed: no rows of the earlier webhook are left", async () => {
    const state = await put();
    await engine.addWebhookAttempt(state, { at: 1, status: 200, milliseconds: 1, fault: null });
    await engine.saveWebhook({ ...state, cursor: "new" }, [webhookSecret({ secret: "whsec_new", createdAt: 2 })]);
    expect(await other.readWebhookAttempts(state)).toEqual([]);
    expect((await other.readWebhookSecrets(state)).map(({ secret }) => secret)).toEqual(["whsec_new"]);
    await engine.addWebhookAttempt(state, { at: 1, status: 200, milliseconds: 1, fault: null });
    await engine.deleteWebhook(state);
    const left = [await other.readWebhookStates([state]), await other.readWebhookSecrets(state)];
    expect([...left, await other.readWebhookAttempts(state)]).toEqual([[], [], []]);
  });

  test("writes: never move a site's revision", async () => {
    await engine.commit([createIntent({ site: 7 })]);
    const before = await engine.readHeads([0, 7]);
    const state = await put();
    await engine.acquireWebhookLease(state, "one", 1000);
    await engine.addWebhookAttempt(state, { at: 1, status: 200, milliseconds: 1, fault: null });
    expect(await engine.readHeads([0, 7])).toEqual(before);
  });

  test("removed site: its webhooks' states are removed", async () => {
    const one = await open(await kind.newDatabase());
    await deleteSiteRecord(one, 1);
    for (const state of [webhookState(), webhookState({ site: 2, webhook: 2 })]) {
      await one.saveWebhook(state, [webhookSecret()]);
      await one.addWebhookAttempt(state, { at: 1, status: 200, milliseconds: 1, fault: null });
    }
    expect(await one.readSitesToDrop()).toEqual([1]);
    await one.dropSite(1);
    expect(await one.readSitesToDrop()).toEqual([]);
    expect((await one.readWebhookStates()).map(({ site }) => site)).toEqual([2]);
    expect([await one.readWebhookSecrets(webhookState()), await one.readWebhookAttempts(webhookState())]).toEqual([
      [],
      [],
    ]);
    expect(await one.readWebhookAttempts({ site: 2, webhook: 2 })).toHaveLength(1);
  });

  test("dump: states and secrets, for all sites or one, but no attempts; restored unchanged", async () => {
    const one = await open(await kind.newDatabase());
    await one.commit([createIntent()]);
    const state = webhookState({ epoch: "kept", failingSince: 4 });
    await one.saveWebhook(state, [webhookSecret()]);
    await one.saveWebhook(webhookState({ site: 2, webhook: 2 }), [webhookSecret()]);
    await one.addWebhookAttempt(state, { at: 1, status: 200, milliseconds: 1, fault: null });
    const rows = await Array.fromAsync(one.dump());
    const tables = (dumped: DumpedRow[]) =>
      dumped.map(({ table }) => table).filter((table) => table.startsWith("webhook"));
    expect(tables(rows).sort()).toEqual(["webhook_secrets", "webhook_secrets", "webhook_state", "webhook_state"]);
    expect(tables(await Array.fromAsync(one.dump(1))).sort()).toEqual(["webhook_secrets", "webhook_state"]);
    const two = await open(await kind.newDatabase());
    for (const target of [two, one]) {
      await target.replaceAllData(toAsync(rows));
      expect(await target.readWebhookStates([state])).toEqual([state]);
      expect(await target.readWebhookSecrets(state)).toEqual([webhookSecret()]);
      expect(await target.readWebhookAttempts(state)).toEqual([]);
    }
  });

  test("tables replaced by an earlier version's restore: saved despite missing columns and tables", async () => {
    const address = await kind.newDatabase();
    const one = await open(address);
    await one.commit([createIntent()]);
    await one.saveWebhook(webhookState(), [webhookSecret()]);
    const left = (table: TableName) => `storefront_replaced_a1_${table}`;
    for (const table of ["sites", "records", "journal", "webhook_state"] as const)
      await kind.run(address, createLike(table, left(table)));
    for (const column of ["resumes", "since", "gone_at"])
      await kind.run(address, `alter table ${left("webhook_state")} drop column ${column}`);
    const saved: string[][] = [];
    await one.replaceAllData(toAsync([]), async (rows) => {
      saved.push((await Array.fromAsync(rows)).map(({ table }) => table));
    });
    expect(saved).toEqual([
      ["sites", "records", "journal", "webhook_state"],
      ["sites", "records", "journal", "webhook_state", "webhook_secrets"],
    ]);
    expect(await kind.extraTables(address)).toEqual([]);
  });

  test("database identity: stays, and differs from others'", async () => {
    const another = await open(await kind.newDatabase());
    const identity = await engine.readDatabaseId();
    expect(identity).toMatch(/^[0-9a-f]{32}$/);
    expect(await other.readDatabaseId()).toBe(identity);
    const before = await another.readDatabaseId();
    expect(before).not.toBe(identity);
    await another.replaceAllData(toAsync(await Array.fromAsync(engine.dump())));
    await another.replaceEpochs();
    expect(await another.readDatabaseId()).toBe(before);
  });

  testIf(kind.name === "SQLite")("on SQLite, leases end on the clock of the machine", async () => {
    let now = 1_000_000;
    const engine = await open(url, () => now);
    const state = await put();
    expect(await engine.acquireWebhookLease(state, "one", 1000)).toMatchObject({ leaseUntil: now + 1000 });
    now += 999;
    expect(await engine.acquireWebhookLease(state, "two", 1000)).toBeUndefined();
    now += 1;
    expect(await engine.acquireWebhookLease(state, "two", 1000)).toMatchObject({ leaseUntil: now + 1000 });
  });

  testIf(kind.name !== "SQLite")(
    "on PostgreSQL, a process with a wrong clock has its lease as long as any other",
    async () => {
      const wrong = await open(url, () => 1_000_000);
      const state = await put();
      const lease = await wrong.acquireWebhookLease(state, "one", 60_000);
      expect(Math.abs((lease?.leaseUntil ?? 0) - 60_000 - Date.now())).toBeLessThan(60_000);
      expect(await engine.acquireWebhookLease(state, "two", 60_000)).toBeUndefined();
      expect(await engine.compareAndSetWebhook(state, { ...state, holder: "one" }, { nextAt: 5 })).toBe(true);
    },
  );
});

/** Copies a table with its rows. */
function createLike(table: TableName, name: string): string {
  const columns = columnsOf(table).map((column) => `${column} ${isText(table, column) ? "text" : "bigint"}`);
  const key = `primary key (${primaryKeyOf(table).join(", ")})`;
  return `create table ${name} (${[...columns, key].join(", ")});
insert into ${name} (${columnsOf(table).join(", ")}) select ${columnsOf(table).join(", ")} from ${table}`;
}

/** Waits until a lease has ended, on the clock of this machine, which is also that of the database. */
async function waitForEnd(state: WebhookState | undefined): Promise<void> {
  await waitUntil(() => Date.now() > (state?.leaseUntil ?? 0), "the end of the lease");
}

async function* toAsync(rows: readonly DumpedRow[]): AsyncGenerator<DumpedRow> {
  yield* rows;
}
