// Sites not in memory: records and pages are read from the database, and are the same as from memory.

import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { readConfig } from "../../../src/config.ts";
import { toMetricsText } from "../../../src/lib/metrics.ts";
import { revokeKey } from "../../../src/operator/sites/keys.ts";
import { type Running, start } from "../../../src/start.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { call, startTestServer, type TestResponse, type TestServer } from "../../support/http/server.ts";
import { ticks, waitUntil } from "../../support/time.ts";

describe.each(engines)("a site that isn't in memory on $name", (kind) => {
  let writer: TestServer;
  const readers: Running[] = [];
  beforeAll(() => kind.open());
  afterAll(async () => {
    for (const reader of readers) await reader.stop();
    await writer?.stop();
    await kind.close();
  });

  /** A server with `count` brands, of which every third was changed and every fifth deleted. */
  async function fill(count: number, settings: Record<string, string> = {}): Promise<void> {
    await writer?.stop();
    writer = await startTestServer({ settings: { DATABASE: await kind.newDatabase(), ...settings } });
    const site = writer.site.ID;
    const ids = Array.from({ length: count }, (_, index) => index + 1);
    await writer.engine.commit(ids.map((id) => createIntent({ site, values: { Name: `<${id}> é`.padEnd(200) } })));
    await writer.engine.commit(
      ids.flatMap((id) => [
        ...(id % 3 ? [] : [createIntent({ site, operation: "update", id, values: { Name: `changed ${id}` } })]),
        ...(id % 5 ? [] : [createIntent({ site, operation: "delete", id, values: {} })]),
      ]),
    );
  }

  /** Another process, which hasn't read anything yet. */
  async function startReader(settings: Record<string, string> = {}): Promise<Reader> {
    const server = await start(readConfig({ DATABASE: writer.database, PORT: "0", LOG: "silent", ...settings }));
    readers.push(server);
    const get = (path: string, headers: Record<string, string> = {}) =>
      call(`${server.url}/restapi/${path}`, "GET", { key: writer.key, headers });
    return { get, sitesInMemory: () => sitesIn(server) };
  }

  test("its records and pages are the same as from memory, and reading them doesn't load it", async () => {
    await fill(5000);
    const cached = await startReader();
    await cached.get("brands.json");
    expect(await cached.sitesInMemory()).toBe(2);
    for (const suffix of ["json", "xml"]) {
      const uncached = await startReader();
      for (const path of [
        `brands/3.${suffix}`,
        `brands/4.${suffix}`,
        `brands/5.${suffix}`,
        `brands/5001.${suffix}`,
        `brands/x.${suffix}`,
        `orderstatuses/1.${suffix}`,
        `brands.${suffix}?limit=7`,
        `brands.${suffix}?limit=3&offset=700&fields=Name`,
        `brands.${suffix}?limit=100&offset=3950`,
        `brands.${suffix}?limit=5&offset=4001`,
        `orderstatuses.${suffix}?limit=5`,
      ]) {
        const [one, other] = [await uncached.get(path), await cached.get(path)];
        expect([path, ...shown(one)]).toEqual([path, ...shown(other)]);
        if (one.status === 200)
          expect((await uncached.get(path, { "If-None-Match": one.headers.get("etag") ?? "" })).status).toBe(304);
      }
      expect(await uncached.sitesInMemory()).toBe(1);
    }
  });

  test("a read sees every write acknowledged before it, by any process", async () => {
    await fill(600);
    const uncached = await startReader();
    for (let round = 0; round < 20; round++) {
      const name = `round ${round}`;
      await writer.call("PUT", "/restapi/brands/1.json", { body: { Name: name } });
      expect((await uncached.get("brands/1.json")).json.Name).toBe(name);
      expect((await uncached.get("brands.json?limit=1")).json[0].Name).toBe(name);
    }
    const total = async () => Number((await uncached.get("brands.json?limit=1")).headers.get("x-total-count"));
    const before = await total();
    const { json } = await writer.call("POST", "/restapi/brands.json", { body: { Name: "new" } });
    expect([await total(), (await uncached.get(`brands/${json.ID}.json`)).status]).toEqual([before + 1, 200]);
    await writer.call("DELETE", `/restapi/brands/${json.ID}.json`);
    expect([await total(), (await uncached.get(`brands/${json.ID}.json`)).status]).toEqual([before, 404]);
    expect(await uncached.sitesInMemory()).toBe(1);
  });

  test.each([
    "brands/1.json",
    "brands.json?limit=1",
  ])("%s is rejected if its contents are newer than the revocation of its key", async (path) => {
    await fill(600);
    const { get } = await startReader();
    const { siteViews } = readers.at(-1) as Running;
    expect((await get(path)).status).toBe(200);
    const getUpToDate = siteViews.getUpToDate.bind(siteViews);
    const between = spyOn(siteViews, "getUpToDate").mockImplementationOnce(async (site) => {
      const found = await getUpToDate(site);
      await revokeKey(writer.engine, writer.key, Date.now());
      await writer.engine.commit([
        createIntent({ site: writer.site.ID, operation: "update", id: 1, values: { Name: "secret" } }),
      ]);
      return found;
    });
    const { status, text } = await get(path);
    expect([between.mock.calls.length > 0, status]).toEqual([true, 401]);
    expect(text).not.toContain("secret");
  });

  test("a write doesn't load it", async () => {
    await fill(600);
    const reader = await startReader();
    const url = readers.at(-1)?.url;
    const { key } = writer;
    for (const [method, path] of [
      ["POST", "brands.json"],
      ["PUT", "brands/1.json"],
      ["DELETE", "brands/2.json"],
    ] as const) {
      const body = method === "DELETE" ? undefined : { Name: "b" };
      expect((await call(`${url}/restapi/${path}`, method, { key, body })).status).toBeLessThan(300);
    }
    expect(await reader.sitesInMemory()).toBe(1);
  });

  test("reads that cost as much as loading it load it, if it fits in memory", async () => {
    await fill(3500);
    const [ample, scarce] = [await startReader(), await startReader({ MEMORY: "1" })];
    for (const { get } of [ample, scarce])
      for (let round = 0; round < 300; round++) expect((await get("brands/1.json")).json.ID).toBe(1);
    // No request waits for the load.
    await waitUntil(async () => (await ample.sitesInMemory()) === 2, "the load");
    expect(await scarce.sitesInMemory()).toBe(1);
  });

  test("of many concurrent requests for pages, few read the database, because the site is being loaded", async () => {
    await fill(1000);
    const [uncached, cached] = [await startReader(), await startReader()];
    const server = readers.at(-2) as Running;
    await cached.get("brands.json");
    const paths = Array.from({ length: 200 }, (_, index) => `brands.json?limit=100&offset=${index}`);
    const pages = await Promise.all(paths.map((path) => uncached.get(path)));
    for (const index of [0, 1, 100, 199]) {
      const other = await cached.get(paths[index] as string);
      expect(shown(pages[index] as TestResponse)).toEqual(shown(other));
    }
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await uncached.sitesInMemory()).toBe(2);
    expect(await pagesReadBy(server)).toBeLessThan(150);
  });

  test("of many sites read at once, some wait for the others", async () => {
    await fill(400);
    let [running, most] = [0, 0];
    const read = () =>
      writer.engine.readSite(writer.site.ID, async ({ rowChunks }) => {
        most = Math.max(most, ++running);
        let rows = 0;
        for await (const chunk of rowChunks) rows += chunk.length;
        // By then, all reads that may run at once have started.
        await ticks(20);
        running--;
        return rows;
      });
    expect(await Promise.all(Array.from({ length: 24 }, read))).toEqual(new Array(24).fill(400));
    expect(most).toBeLessThan(12);
  });

  test("single records, pages and writes don't wait while whole sites are read", async () => {
    await fill(400);
    const { engine, site } = writer;
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const reading = Array.from({ length: 24 }, () => engine.readSite(site.ID, () => end));
    expect((await engine.readRecord(site.ID, "brand", 1)).row?.id).toBe(1);
    expect((await engine.readPage(site.ID, "brand", { limit: 1, offset: 0 })).rows).toHaveLength(1);
    expect((await engine.commit([createIntent({ site: site.ID })]))[0]?.kind).toBe("done");
    resolve();
    await Promise.all(reading);
  });

  test("a whole site is read in chunks, as of one moment, while others write", async () => {
    await fill(2000);
    const seen = new Set<number>();
    let chunks = 0;
    const head = await writer.engine.readSite(writer.site.ID, async (contents) => {
      for await (const rows of contents.rowChunks) {
        chunks++;
        for (const { revision } of rows) seen.add(revision);
        await writer.engine.commit([createIntent({ site: writer.site.ID, operation: "update", id: 1999 })]);
        await writer.engine.commit([createIntent({ site: writer.site.ID })]);
      }
      return contents.head;
    });
    expect(chunks).toBeGreaterThan(3);
    expect(Math.max(...seen)).toBe(head.revision);
    expect((await readAllRows(writer.engine, writer.site.ID)).rows).toHaveLength(2000 + chunks);
  });
});

interface Reader {
  get(path: string, headers?: Record<string, string>): Promise<TestResponse>;
  sitesInMemory(): Promise<number>;
}

/** The parts of a response that clients see. */
function shown({ status, headers, text }: TestResponse): unknown[] {
  const names = ["etag", "link", "x-total-count", "content-type", ...(status === 200 ? ["content-length"] : [])];
  const body = text.replace(/"instance":"[^"]*"|<instance>[^<]*/, "");
  return [status, body, ...names.map((name) => headers.get(name))];
}

async function sitesIn(server: Running): Promise<number> {
  return Number(/storefront_sites_in_memory (\d+)/.exec(await toMetricsText([await server.sample()]))?.[1]);
}

async function pagesReadBy(server: Running): Promise<number> {
  const text = await toMetricsText([await server.sample()]);
  return Number(/storefront_database_call_duration_seconds_count\{call="readPage"\} (\d+)/.exec(text)?.[1]);
}
