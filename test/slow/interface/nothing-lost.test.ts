// Clients keep writing while a process or database is killed. Afterwards, every confirmed write is stored exactly once, and the journal
// has no gaps.

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Engine } from "../../../src/model/engine.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../../src/store/open.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import { call } from "../../support/http/server.ts";
import { type PostgresPair, startPostgres, startPostgresPair } from "../../support/postgres/server.ts";
import { type ServerProcess, startProcess } from "../../support/programs/processes.ts";
import { waitUntil } from "../../support/time.ts";

setDefaultTimeout(120_000);

const clients = 8;
const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function startPair(): Promise<PostgresPair> {
  const pair = await startPostgresPair();
  cleanUps.push(pair.remove);
  return pair;
}

test("primary killed and its synchronous standby promoted: every confirmed write is stored once", async () => {
  const { primary, standby, url } = await startPair();
  const shop = await openShop(url, 2);
  await shop.writeThrough(async ({ waitForFailures }) => {
    await primary.signal("SIGKILL");
    await waitForFailures();
    await standby.run("select pg_promote()");
  });
});

test("a write the synchronous standby doesn't have yet isn't confirmed", async () => {
  const { standby, url } = await startPair();
  const shop = await openShop(url, 1);
  await standby.signal("SIGSTOP");
  const start = performance.now();
  expect(await shop.create("a")).toBeUndefined();
  // The contract promises three seconds, but this machine may be busy.
  expect(performance.now() - start).toBeLessThan(10_000);
  await standby.signal("SIGCONT");
  await waitUntil(async () => (await shop.create("a")) === 1, "a confirmed write");
  expect(await shop.create("a")).toBe(1);
  expect(await shop.create("b")).toBe(2);
});

test("server process killed and clients move to another: every confirmed write is stored once", async () => {
  const database = await startPostgres();
  cleanUps.push(database.remove);
  // The default is two seconds, and a busy machine may stall that long.
  const shop = await openShop(`${await database.createDatabase()}?statement_timeout=20000`, 3);
  await shop.writeThrough(async () => void (await shop.processes[0]?.end("SIGKILL")));
});

test("database killed and restarted twice: every confirmed write is stored once", async () => {
  const database = await startPostgres();
  cleanUps.push(database.remove);
  const shop = await openShop(await database.createDatabase(), 2);
  await shop.writeThrough(async ({ waitForFailures, waitForWrites }) => {
    for (const end of [() => database.signal("SIGKILL"), database.halt]) {
      await end();
      await waitForFailures();
      await database.start();
      await waitForWrites();
    }
  });
});

interface Shop {
  readonly processes: readonly ServerProcess[];
  /** Creates a brand through the first process, with its name as the idempotency key. */
  create(name: string): Promise<number | undefined>;
  /** Keeps clients writing while `disaster` happens, then compares the database with the responses. */
  writeThrough(disaster: (clients: Clients) => Promise<void>): Promise<void>;
}

interface Clients {
  /** Resolves once more writes have failed. */
  waitForFailures(): Promise<unknown>;
  /** Resolves once more writes have been confirmed. */
  waitForWrites(): Promise<unknown>;
}

async function openShop(url: string, count: number): Promise<Shop> {
  const engine = await openEngine(url, allResources);
  cleanUps.push(engine.close);
  const site = await createSite(engine, "shop", { isDefault: true }, Date.now());
  const { key } = await createKey(engine, site, {}, Date.now());
  const processes = await Promise.all(
    Array.from({ length: count }, () => startProcess({ DATABASE: url, LOG: "silent" })),
  );
  cleanUps.push(() => Promise.all(processes.map((one) => one.end())));
  return {
    processes,
    create: (name) => create((processes[0] as ServerProcess).url, key, name),
    async writeThrough(disaster) {
      let isOver = false;
      let isDisaster = false;
      let failures = 0;
      const acknowledged = new Map<string, number>();
      const client = async (number: number) => {
        for (let i = 0; !isOver; i++) {
          const name = `c${number}-${i}`;
          let attempt = number;
          const confirmed = await waitUntil(
            async () => {
              const one = processes[attempt++ % processes.length] as ServerProcess;
              const id = await create(one.url, key, name);
              if (id === undefined && isDisaster) failures++;
              return id;
            },
            `a confirmation of ${name}`,
            { withinMs: 60_000 },
          );
          acknowledged.set(name, confirmed);
        }
      };
      const more = (count: () => number, by: number, what: string) => {
        const enough = count() + by;
        return waitUntil(() => count() >= enough, what, { withinMs: 60_000 });
      };
      const waitForFailures = () => more(() => failures, clients, "failed writes");
      const waitForWrites = (by = 50) => more(() => acknowledged.size, by, "confirmed writes");
      const running = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
      await waitForWrites();
      isDisaster = true;
      await disaster({ waitForFailures: waitForFailures, waitForWrites });
      await waitForWrites(200);
      isOver = true;
      await running;
      expect(failures).toBeGreaterThan(0);
      await expectWhole(engine, site, acknowledged);
    },
  };
}

/** Returns the new brand's ID, or undefined if the server doesn't confirm it. */
async function create(url: string, key: string, name: string): Promise<number | undefined> {
  try {
    const headers = { "Idempotency-Key": name };
    const response = await call(`${url}/restapi/brands.json`, "POST", { key, headers, body: { Name: name } });
    if (response.status === 201) return response.json.ID;
    if (response.status !== 503) throw new Error(`unexpected: ${response.status} ${response.text}`);
    return undefined;
  } catch (error) {
    if (/^unexpected/.test((error as Error).message)) throw error;
    return undefined;
  }
}

async function expectWhole(engine: Engine, site: SiteRecord, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const { head, rows } = await readAllRows(engine, site.ID);
  const stored = new Map<string, number>();
  for (const { id, body } of rows) {
    const { Name } = JSON.parse(body as string);
    expect(stored.has(Name)).toBe(false);
    stored.set(Name, id);
  }
  for (const [name, id] of acknowledged) expect(stored.get(name)).toBe(id);
  const changes = (await engine.readChangesSince(site.ID, 0)) ?? [];
  expect(changes.map(({ revision }) => revision)).toEqual(Array.from({ length: head.revision }, (_, i) => i + 1));
  expect(await engine.findInconsistencies()).toEqual([]);
}
