// A database that stops, hangs, fills its disk or becomes read-only: a clear 503 soon, nothing half done, and everything
// works again without help.

import { afterAll, beforeEach, expect, test } from "bun:test";
import postgres from "postgres";
import { createKey } from "../../../../src/operator/sites/keys.ts";
import { createSite } from "../../../../src/operator/sites/sites.ts";
import { startTestServer, type TestResponse, type TestServer } from "../../../support/http/server.ts";
import { startPostgres } from "../../../support/postgres/server.ts";
import { makeFullDisk } from "../../../support/programs/full-disk.ts";
import { waitUntil } from "../../../support/time.ts";

const database = await startPostgres();
const shop = await startTestServer({ settings: { DATABASE: await database.createDatabase() } });
afterAll(async () => {
  await shop.stop();
  await database.remove();
});
beforeEach(() => healed(shop));

test("while a database is stopped, requests get 503; when it runs again, they succeed", async () => {
  await database.halt();
  for (const response of await everyKindOfRequest()) expectUnavailable(response);
  expect((await shop.call("GET", "/readyz")).status).toBe(503);
  expect((await shop.call("GET", "/healthz")).status).toBe(200);
  await database.start();
  await healed(shop);
});

test("a database that was killed gives 503, and has lost nothing when it is back", async () => {
  const made = await shop.call("POST", "/restapi/brands.json", { body: { Name: "kept" } });
  await database.signal("SIGKILL");
  for (const response of await everyKindOfRequest()) expectUnavailable(response);
  await database.start();
  await healed(shop);
  expect((await shop.call("GET", `/restapi/brands/${made.json.ID}.json`)).json.Name).toBe("kept");
});

test("a database that hangs causes 503 within three seconds, for all waiting requests, which then succeed again", async () => {
  await database.signal("SIGSTOP");
  try {
    const first = everyKindOfRequest();
    await waitUntil(() => (shop.engine.usage?.().connections?.inUse ?? 0) > 0, "a request that waits for the database");
    const others = [everyKindOfRequest(), first.then(everyKindOfRequest)];
    for (const response of (await Promise.all([first, ...others])).flat()) expectUnavailable(response);
  } finally {
    await database.signal("SIGCONT");
  }
  await healed(shop);
});

test("while another transaction locks a site, only its writes get 503, and nothing was done", async () => {
  const before = await shop.call("GET", "/restapi/brands.json");
  const sql = postgres(shop.database, { max: 1, onnotice: () => {} });
  const { promise: over, resolve: finish } = Promise.withResolvers<void>();
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const transaction = sql.begin(async (inside) => {
    await inside`select * from sites for update`;
    isLocked();
    await over;
  });
  await locked;
  expectUnavailable(await timed(() => shop.call("POST", "/restapi/brands.json", { body: { Name: "late" } })));
  expect((await shop.call("GET", "/restapi/brands.json")).text).toBe(before.text);
  finish();
  await transaction;
  await sql.end();
  // An earlier write that the database still had would come first, and would have the ID of this write.
  const create = () => shop.call("POST", "/restapi/brands.json", { body: { Name: "next" } });
  const { json: next } = await waitUntil(async () => {
    const response = await create();
    return response.status === 201 && response;
  }, "a write");
  expect((await shop.call("GET", "/restapi/brands.json")).json).toEqual([...before.json, next]);
});

test("while another transaction locks the records, lists of many sites that are not in memory get 503 at the same time", async () => {
  const hosts = Array.from({ length: 16 }, (_, at) => `cold-${at}.example`);
  const keys: string[] = [];
  for (const host of hosts) {
    const site = await createSite(shop.engine, host.replace(".example", ""), { hostnames: [host] }, Date.now());
    keys.push((await createKey(shop.engine, site, {}, Date.now())).key);
  }
  const list = (at: number) =>
    timed(() =>
      shop.call("GET", "/restapi/brands.json", { key: keys[at] as string, headers: { Host: hosts[at] as string } }),
    );
  const sql = postgres(shop.database, { max: 1, onnotice: () => {} });
  const { promise: over, resolve: finish } = Promise.withResolvers<void>();
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const transaction = sql.begin(async (inside) => {
    await inside`lock table records in access exclusive mode`;
    isLocked();
    await over;
  });
  await locked;
  const responses: Timed[] = [];
  const lists = hosts.slice(1).map(async (_, at) => void responses.push(await list(at + 1)));
  await Promise.race(lists);
  // This fails when a further time limit has passed.
  expectUnavailable(await list(0));
  expect(responses.length).toBe(lists.length);
  for (const response of responses) expectUnavailable(response);
  finish();
  await transaction;
  await sql.end();
  const listed = () => Promise.all(hosts.map((_, at) => list(at)));
  await waitUntil(async () => (await listed()).every(({ status }) => status === 200), "lists of all sites");
});

test("a read-only database is read, and writes get 503", async () => {
  await database.halt();
  await database.start({ default_transaction_read_only: "on" });
  await healed(shop);
  expectUnavailable(await timed(() => shop.call("POST", "/restapi/brands.json", { body: { Name: "no" } })));
  await database.halt();
  await database.start();
});

test("connections that the database ended while they were idle cost no request", async () => {
  await shop.call("POST", "/restapi/brands.json", { body: { Name: "a" } });
  await database.disconnect();
  expect((await shop.call("GET", "/restapi/brands.json")).status).toBe(200);
  expect((await shop.call("POST", "/restapi/brands.json", { body: { Name: "b" } })).status).toBe(201);
});

test("a standby that lagged and became the primary is used: the changes that it lost are removed from memory too", async () => {
  const made = await shop.call("POST", "/restapi/orderstatuses.json", { body: { Name: "lost" } });
  expect(made.status).toBe(201);
  const { revision } = (await shop.engine.readHeads([shop.site.ID]))[0] as { revision: number };
  const name = /[^/]+$/.exec(shop.database)?.[0];
  await database.run(
    `begin;
     update sites set revision = ${revision - 1}, last_ids = '{"brand":100}' where id = ${shop.site.ID};
     delete from journal where site_id = ${shop.site.ID} and revision = ${revision};
     delete from records where site_id = ${shop.site.ID} and revision = ${revision};
     commit`,
    name,
  );
  expect((await shop.call("GET", `/restapi/orderstatuses/${made.json.ID}.json`)).status).toBe(404);
  expect((await shop.call("GET", "/restapi/orderstatuses.json")).json).toEqual([]);
});

test("with a full disk, writes get 503, the data stays, and writes succeed again when the disk has space", async () => {
  const disk = await makeFullDisk(database);
  const full = await startTestServer({ settings: { DATABASE: disk.url } });
  try {
    const body = { Name: "n".repeat(255), Address: { AddressLine1: "a".repeat(255), AddressLine2: "b".repeat(255) } };
    const made: TestResponse[] = [];
    await disk.fill();
    for (let i = 0; i < 20_000; i++) {
      const responses = await Promise.all(
        Array.from({ length: 100 }, () => full.call("POST", "/restapi/brands.json", { body })),
      );
      made.push(...responses.filter(({ status }) => status === 201));
      const failed = responses.find(({ status }) => status !== 201);
      if (failed) {
        expect(failed.status).toBe(503);
        break;
      }
    }
    const list = await full.call("GET", "/restapi/brands.json");
    expect(list.json.map(({ ID }: { ID: number }) => ID)).toEqual(
      made.map(({ json }) => json.ID as number).sort((a, b) => a - b),
    );
    await disk.grow();
    expect((await full.call("POST", "/restapi/brands.json", { body })).status).toBe(201);
  } finally {
    await full.stop();
    await disk.remove();
  }
});

interface Timed extends TestResponse {
  /** Without the milliseconds in which a busy machine did not run this process, which is the server too. */
  readonly milliseconds: number;
}

async function timed(request: () => Promise<TestResponse>): Promise<Timed> {
  let milliseconds = 0;
  const timer = setInterval(() => {
    milliseconds += 50;
  }, 50);
  const response = await request().finally(() => clearInterval(timer));
  return Object.assign(response, { milliseconds });
}

function everyKindOfRequest(): Promise<Timed[]> {
  return Promise.all([
    timed(() => shop.call("GET", "/restapi/brands.json")),
    timed(() => shop.call("GET", "/restapi/brands/1.xml")),
    timed(() => shop.call("POST", "/restapi/brands.json", { body: { Name: "x" } })),
    timed(() => shop.call("PUT", "/restapi/brands.xml", { body: '<Brand ID="1"><Name>x</Name></Brand>' })),
    timed(() => shop.call("DELETE", "/restapi/orderstatuses/1.json")),
  ]);
}

function expectUnavailable(response: Timed): void {
  expect(response.status).toBe(503);
  expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect(response.milliseconds).toBeLessThan(3000);
  expect(response.text).not.toMatch(/127\.0\.0\.1|ECONN|postgres|password/i);
}

/** Waits until reads succeed again, as a client that follows `Retry-After`. */
async function healed(server: TestServer): Promise<void> {
  const get = () => server.call("GET", "/restapi/brands.json");
  await waitUntil(async () => (await get()).status === 200, "a server that reads again");
}
