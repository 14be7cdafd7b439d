// A failover that loses commits that clients have seen, followed by other commits with the same revisions: lost data is not served afterwards.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { readConfig } from "../../../src/config.ts";
import { toMetricsText } from "../../../src/lib/metrics.ts";
import type { Engine } from "../../../src/model/engine.ts";
import type { Head } from "../../../src/model/head.ts";
import { readRows } from "../../../src/operator/import/file-rows.ts";
import { importRecords } from "../../../src/operator/import/import-records.ts";
import { undo } from "../../../src/operator/journal/undo.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { brand } from "../../../src/resources/brand.ts";
import { start } from "../../../src/start.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { type CallOptions, call } from "../../support/http/server.ts";
import { type LossyPostgres, startLossyPostgres } from "../../support/postgres/lossy.ts";
import { type Data, dataOf } from "../../support/programs/command-data.ts";
import { waitUntil } from "../../support/time.ts";

setDefaultTimeout(120_000);

interface Shop {
  readonly site: SiteRecord;
  readonly host: string;
  readonly key: string;
}

/** The data that a client of one server has seen of one site. */
interface Client {
  readonly shop: Shop;
  readonly get: (path: string, options?: CallOptions & { readonly method?: string }) => ReturnType<typeof call>;
  readonly listTag: string;
  readonly cursor: string;
  /** The ETags of the brands 1 to 3, if they existed. */
  readonly tags: ReadonlyMap<number, string>;
}

const change = fc.record({
  operation: fc.constantFrom("create" as const, "update" as const, "update" as const, "delete" as const),
  id: fc.integer({ min: 1, max: 3 }),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The changes of a site that are lost, and the changes after that: often the same number, so that the revisions are the same. */
const loss = fc.record({
  lost: fc.array(change, { maxLength: 3 }),
  others: fc.array(change, { maxLength: 3 }),
  reachesSameRevision: fc.boolean(),
});
type Loss = typeof loss extends fc.Arbitrary<infer T> ? T : never;

let postgres: LossyPostgres;
let url: string;
let shops: Shop[];
/** A shop whose clients send `Idempotency-Key`. */
let orders: Shop;
let servers: Awaited<ReturnType<typeof start>>[];
beforeAll(async () => {
  postgres = await startLossyPostgres();
  url = await postgres.createDatabase();
  shops = await use(async (engine) => {
    const made: Shop[] = [];
    orders = await addShop(engine, "orders");
    for (const name of ["one", "two", "three"]) made.push(await addShop(engine, name));
    return made;
  });
  const config = readConfig({ PORT: "0", ADMIN: "none", LOG: "silent", DATABASE: url });
  const verificationPauses = { firstMs: 0, minMs: 5, perWork: 0, passMs: 5 };
  servers = [await start(config, { verificationPauses }), await start(config, { verificationPauses })];
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await postgres.remove();
});

test("after a failover that lost commits, no record, list, version, cursor or key of them is served or accepted, and a lost write is done again", async () => {
  const rounds = fc.asyncProperty(fc.tuple(loss, loss, loss), checkFailovers);
  await fc.assert(rounds, { numRuns: 4, endOnFailure: true });
});

/** Work on a site that decides by what it has read. Calls `lose` after it has read, and before it commits. @param name the name of a brand to import */
type LongWork = (engine: Engine, lose: () => Promise<void>, name: string) => Promise<unknown>;

const importing =
  (atomic: boolean): LongWork =>
  (engine, lose, name) => {
    const rows = (async function* () {
      yield Buffer.from("Name\n");
      await lose();
      yield Buffer.from(`${name}\n`);
    })();
    const options = { match: "Name", atomic, now: Date.now };
    return importRecords(engine, orders.site.ID, brand, readRows(brand, rows, "csv"), options);
  };
const undoing: LongWork = (engine, lose) => {
  const readJournalPage: Engine["readJournalPage"] = async (...query) => {
    const page = await engine.readJournalPage(...query);
    await lose();
    return page;
  };
  return undo({ ...engine, readJournalPage }, orders.site.ID, { since: 0 }, { at: Date.now() });
};

test.each([
  ["an import", importing(false)],
  ["an import of all rows or none", importing(true)],
  ["an undo", undoing],
])("%s during a failover that loses commits ends before it changes what it has not read", async (_, work) => {
  const { ID: site } = orders.site;
  const create = (engine: Engine, Name: string) =>
    engine.commit([createIntent({ site, values: { Name }, at: Date.now() })]);
  const name = unique();
  await postgres.keep();
  const lose = async () => {
    await postgres.failOver();
    await use((engine) => create(engine, name));
  };
  const error = await use(async (engine) => {
    await create(engine, unique());
    return work(engine, lose, name).catch((reason) => reason);
  });
  const { rows } = await use(async (engine) => readAllRows(engine, site));
  expect(rows.filter(({ body }) => body?.includes(`"${name}"`))).toHaveLength(1);
  expect(error).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("has failed over to another machine"),
  });
});

async function checkFailovers(losses: readonly Loss[]): Promise<void> {
  const [keptOrder, lostOrder] = [unique(), unique()];
  await order(keptOrder);
  await postgres.keep();
  const kept = await use(heads);
  const key = await use(async (engine) => {
    for (const [index, { lost }] of losses.entries()) await make(engine, index, lost);
    return (await createKey(engine, shops[0]?.site as SiteRecord, {}, Date.now())).key;
  });
  await order(lostOrder);
  const before = await use(heads);
  const clients = await Promise.all(shops.flatMap((shop) => servers.map((server) => readClient(server.url, shop))));
  const lostIn = (shop: Shop) => before.get(shop)?.revision !== kept.get(shop)?.revision;
  const clientsOfLostChanges = clients.filter(({ shop }) => lostIn(shop));
  const polls = clientsOfLostChanges.map(({ get, cursor }) => get(`changes.json?wait=50&since=${cursor}`));
  await waitUntil(async () => (await waiting()) === polls.length, "polls");

  await postgres.failOver();
  await use((engine) => writeOtherChanges(engine, losses, before));
  for (const client of clients) await checkList(client);
  for (const { get } of clients) expect((await get("brands.json", { key })).status).toBe(401);
  for (const poll of polls) expect((await poll).status).toBe(410);
  for (const client of clientsOfLostChanges) await checkLost(client, kept.get(client.shop) as Head);
  const after = await use(heads);
  for (const client of clients) {
    if (lostIn(client.shop)) continue;
    expect(after.get(client.shop)?.epoch).toBe(before.get(client.shop)?.epoch as string);
    expect((await client.get(`changes.json?since=${client.cursor}`)).status).toBe(200);
  }
  await checkWrites(clients);
  await checkOrders(keptOrder, lostOrder);
  expect(await metric("storefront_verified_records_total")).toBeGreaterThan(0);
  expect(await metric("storefront_verify_differences_total")).toBe(0);
}

/** Creates a brand with its name as the `Idempotency-Key`. */
async function order(name: string) {
  const { key, host } = orders;
  const headers = { Host: host, "Idempotency-Key": name };
  for (;;) {
    const response = await call(`${servers[0]?.url}/restapi/brands.json`, "POST", {
      key,
      headers,
      body: { Name: name },
    });
    if (response.status === 201) return response;
    expect(response.status).toBe(503);
  }
}

/** Checks that of two requests that are sent again, only the request whose write was lost is executed again. */
async function checkOrders(kept: string, lost: string): Promise<void> {
  const replayed = async (name: string) => (await order(name)).headers.get("Idempotency-Replayed");
  expect([await replayed(kept), await replayed(lost), await replayed(lost)]).toEqual(["true", null, "true"]);
  const { rows } = await use(async (engine) => readAllRows(engine, orders.site.ID));
  const names = rows.map(({ body }) => JSON.parse(body as string).Name);
  expect([kept, lost].map((name) => names.filter((one) => one === name).length)).toEqual([1, 1]);
}

/** Writes other changes instead of the lost changes. If the number must be the same, each further change creates a brand. */
async function writeOtherChanges(
  engine: Engine,
  losses: readonly Loss[],
  before: ReadonlyMap<Shop, Head>,
): Promise<void> {
  for (const [index, { others, reachesSameRevision }] of losses.entries()) {
    await make(engine, index, others);
    const shop = shops[index] as Shop;
    const missing = (before.get(shop) as Head).revision - ((await heads(engine)).get(shop) as Head).revision;
    const more: Change[] = Array.from({ length: Math.max(0, missing) }, () => ({ operation: "create", id: 0 }));
    if (reachesSameRevision) await make(engine, index, more);
  }
}

/** Checks that the first list that the server returns has the stored records. */
async function checkList({ shop, get }: Client): Promise<void> {
  const { rows } = await use(async (engine) => readAllRows(engine, shop.site.ID));
  const stored = rows.flatMap(({ body }) => (body === null ? [] : JSON.parse(body)));
  const named = ({ ID, Name }: { ID: number; Name: string }) => `${ID} ${Name}`;
  const list = await waitUntil(async () => {
    const response = await get("brands.json");
    return response.status === 200 && response;
  }, "the new primary");
  expect(list.json.map(named)).toEqual(stored.map(named));
}

/** Checks that cursors and versions of lost changes are rejected. */
async function checkLost({ get, listTag, cursor, tags }: Client, kept: Head): Promise<void> {
  expect((await get(`changes.json?since=${cursor}`)).status).toBe(410);
  expect((await get("brands.json", { headers: { "If-None-Match": listTag } })).status).toBe(200);
  for (const [id, tag] of tags) {
    if (Number(/\.(\d+)"$/.exec(tag)?.[1]) <= kept.revision) continue;
    expect((await get(`brands/${id}.json`, { headers: { "If-None-Match": tag } })).status).toBeOneOf([200, 404]);
    const write = { method: "PUT", headers: { "If-Match": tag }, body: { Name: "of a client that saw what is lost" } };
    expect((await get(`brands/${id}.json`, write)).status).toBeOneOf([412, 404]);
  }
}

/** Checks that each server serves the writes that the other one confirms. */
async function checkWrites(clients: readonly Client[]): Promise<void> {
  for (const { shop, get } of clients) {
    const { json } = await get("brands.json", { method: "POST", body: { Name: unique() } });
    for (const other of clients) {
      if (other.shop === shop) expect((await other.get(`brands/${json.ID}.json`)).json).toEqual(json);
    }
  }
}

/** Reads everything, so that the server has it in memory. */
async function readClient(server: string, shop: Shop): Promise<Client> {
  const get: Client["get"] = async (path, { method = "GET", key = shop.key, headers, body } = {}) => {
    for (;;) {
      const options = { key, headers: { Host: shop.host, ...headers }, body };
      const response = await call(`${server}/restapi/${path}`, method, options);
      // On a busy machine, the database may take longer than a server waits; a client then reads again.
      if (response.status !== 503 || method !== "GET") return response;
    }
  };
  const list = await get("brands.json");
  const tags = new Map<number, string>();
  for (const id of [1, 2, 3]) {
    const tag = (await get(`brands/${id}.json`)).headers.get("etag");
    if (tag !== null) tags.set(id, tag);
  }
  const cursor = (await get("changes.json?since=now")).json.Next;
  return { shop, get, listTag: list.headers.get("etag") as string, cursor, tags };
}

async function addShop(engine: Engine, name: string): Promise<Shop> {
  const host = `${name}.example`;
  const site = await createSite(engine, name, { hostnames: [host] }, Date.now());
  const { key } = await createKey(engine, site, {}, Date.now());
  const creates = [1, 2, 3].map(() => createIntent({ site: site.ID, values: { Name: unique() }, at: Date.now() }));
  await engine.commit(creates);
  return { site, host, key };
}

/** Makes each change in a separate commit. A change of a deleted record has no effect. */
async function make(engine: Engine, shop: number, changes: readonly Change[]): Promise<void> {
  const site = shops[shop]?.site.ID as number;
  for (const { operation, id } of changes) {
    const values = operation === "delete" ? {} : { Name: unique() };
    const named = operation === "create" ? {} : { id };
    await engine.commit([createIntent({ site, operation, ...named, values, at: Date.now() })]);
  }
}

async function heads(engine: Engine): Promise<Map<Shop, Head>> {
  const found = await engine.readHeads(shops.map(({ site }) => site.ID));
  return new Map(shops.map((shop, index) => [shop, found[index] as Head]));
}

/** Uses a new engine, which has seen no head before. */
const use: Data["use"] = (work) => dataOf(url).use(work);

/** Returns the number of long polls that wait. */
function waiting(): Promise<number> {
  return metric("storefront_polls_waiting");
}

/** Returns the sum of a metric of all servers. */
async function metric(name: string): Promise<number> {
  const text = await toMetricsText(await Promise.all(servers.map((server) => server.sample())));
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

let names = 0;
const unique = () => `name ${++names}`;
