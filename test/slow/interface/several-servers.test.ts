// Several servers on one database: reads see every process's earlier writes, even after pruning or a restore.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../src/config.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { brand } from "../../../src/resources/brand.ts";
import { start } from "../../../src/start.ts";
import { measureIntervalMs } from "../../../src/store/reads/memory-budget.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { loadUpToDate } from "../../support/engine/snapshots.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { call, startTestServer } from "../../support/http/server.ts";
import { letPass, waitUntil } from "../../support/time.ts";

const first = await startTestServer();
const second = await start(readConfig({ DATABASE: first.database, PORT: "0", LOG: "silent" }));
afterAll(async () => {
  await second.stop();
  await first.stop();
});

const onSecond = (method: string, path: string, body?: unknown) =>
  call(`${second.url}${path}`, method, { key: first.key, body });

test("a write through one server is in the next read through another, in either format, list or single record", async () => {
  for (let i = 0; i < 48; i++) {
    const name = `turn ${i}`;
    const written =
      i % 2
        ? await onSecond("POST", "/restapi/brands.json", { Name: name })
        : await first.call("POST", "/restapi/brands.json", { body: { Name: name } });
    const read = async (path: string) => (i % 2 ? await first.call("GET", path) : await onSecond("GET", path)).text;
    const suffix = i % 3 ? "json" : "xml";
    const texts = await Promise.all([
      read(`/restapi/brands/${written.json.ID}.${suffix}`),
      read(`/restapi/brands.${suffix}`),
    ]);
    for (const text of texts) expect(text).toContain(name);
  }
});

test("a batch and its undo are in the next read through another server, and that server can undo the run", async () => {
  const list = async () => (await first.call("GET", "/restapi/brands.json")).text;
  const before = await list();
  // More changes than a snapshot applies one by one.
  const Operations = Array.from({ length: 600 }, (_, i) => ({
    Method: "POST",
    Resource: "brands",
    Record: { Name: `of the batch ${i}` },
  }));
  const { Run } = (await onSecond("POST", "/restapi/batch.json", { Operations })).json;
  expect(await list()).toContain("of the batch 599");
  const undone = await first.call("POST", "/restapi/undo.json", { body: { Run } });
  expect(undone.json.Deleted).toBe(600);
  expect((await onSecond("GET", "/restapi/brands.json")).text).toBe(before);
  expect((await onSecond("POST", "/restapi/undo.json", { Run: undone.json.Run })).json.Restored).toBe(600);
  expect(await list()).toContain("of the batch 0");
});

test("a change in the middle of a long list only changes that record", async () => {
  const intent = { site: first.site.ID, resource: "order-status" };
  for (const from of [0, 300])
    await first.engine.commit(
      Array.from({ length: 300 }, (_, i) => createIntent({ ...intent, values: { Name: `s${from + i}` } })),
    );
  const expected = Array.from({ length: 600 }, (_, i) => ({ ID: i + 1, Name: `s${i}` }));
  const check = async () => {
    expect((await first.call("GET", "/restapi/orderstatuses.json")).json).toEqual(expected.filter(Boolean));
    const xml = (await onSecond("GET", "/restapi/orderstatuses.xml")).text;
    expect([...(xml.match(/ID="\d+"/g) ?? [])]).toEqual(expected.filter(Boolean).map(({ ID }) => `ID="${ID}"`));
  };
  await check();
  for (const [index, name] of [
    [300, "middle"],
    [0, "first"],
    [599, "last"],
    [255, "end of a block"],
    [256, "start of one"],
  ] as const) {
    await onSecond("PUT", `/restapi/orderstatuses/${index + 1}.json`, { Name: name });
    expected[index] = { ID: index + 1, Name: name };
    await check();
  }
  for (let id = 257; id <= 512; id++) {
    await first.call("DELETE", `/restapi/orderstatuses/${id}.json`);
    delete expected[id - 1];
  }
  await check();
  const remaining = expected.filter(Boolean).map(({ ID }) => ID);
  await first.engine.commit(remaining.map((id) => createIntent({ ...intent, operation: "delete", id, values: {} })));
  expect((await first.call("GET", "/restapi/orderstatuses.json")).text).toBe("[]");
  expect((await first.call("GET", "/restapi/orderstatuses.xml")).text).toEndWith("<Results></Results>");
});

test("thousands of changes by another process are in the next read", async () => {
  await onSecond("GET", "/restapi/brands.json");
  const create = createIntent({ values: { Name: "many" } });
  for (let i = 0; i < 10; i++) await first.engine.commit(Array.from({ length: 500 }, () => create));
  const { text, headers } = await onSecond("GET", "/restapi/brands.json");
  expect(text.match(/"many"/g)).toHaveLength(5000);
  expect(headers.get("X-Total-Count")).toBe(
    (await first.call("GET", "/restapi/brands.json")).headers.get("X-Total-Count"),
  );
});

test("a site whose journal was pruned is loaded again", async () => {
  await onSecond("GET", "/restapi/brands.json");
  await first.call("POST", "/restapi/brands.json", { body: { Name: "before the pruning" } });
  const database = openSqliteFile(first.database);
  database.run("delete from journal where site_id = 1");
  database.close();
  expect((await onSecond("GET", "/restapi/brands.json")).text).toContain("before the pruning");
});

describe("a backup restored while servers run", () => {
  test("is in the next read, with different ETags", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
    const server = await startTestServer();
    const created = await server.call("POST", "/restapi/brands.json", { body: { Name: "kept" } });
    await backUp(server.engine, join(folder, "a.backup"), 0);
    await server.call("PUT", "/restapi/brands/1.json", { body: { Name: "lost" } });
    await restore(server.engine, join(folder, "a.backup"), join(folder, "before.backup"), 0);
    const read = await server.call("GET", "/restapi/brands/1.json");
    expect(read.text).toBe(created.text);
    expect(read.headers.get("ETag")).not.toBe(created.headers.get("ETag"));
    const next = await server.call("PUT", "/restapi/brands/1.json", {
      body: { Name: "after" },
      headers: { "If-Match": created.headers.get("ETag") as string },
    });
    expect(next.status).toBe(412);
    expect(await server.engine.findInconsistencies()).toEqual([]);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("removes sites, hosts and keys added since the backup", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
    const server = await startTestServer();
    const { engine } = server;
    const statusAt = async (host: string, key = server.key) =>
      (await server.call("GET", "/restapi/brands.json", { key, headers: { Host: host } })).status;
    await setSite(engine, "shop", { isDefault: false, hostnames: ["shop.example"] }, 0);
    await backUp(engine, join(folder, "a.backup"), 0);
    const garden = await createSite(engine, "garden", { hostnames: ["garden.example"], isDefault: true }, 0);
    const keyOfGarden = (await createKey(engine, garden, {}, 0)).key;
    const laterKey = await server.issueKey();
    const statuses = async () => [
      await statusAt("shop.example"),
      await statusAt("shop.example", laterKey),
      await statusAt("garden.example"),
      await statusAt("garden.example", keyOfGarden),
      await statusAt("other.example", keyOfGarden),
    ];
    expect(await statuses()).toEqual([200, 200, 403, 200, 200]);
    await restore(engine, join(folder, "a.backup"), join(folder, "before.backup"), 0);
    expect(await statuses()).toEqual([200, 401, 421, 421, 421]);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
});

test("a change undone by another process's restore isn't in reads", async () => {
  const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
  const { engine, site, stop } = await startTestServer();
  const create = (name: string) => createIntent({ site: site.ID, values: { Name: name } });
  await engine.commit([create("kept")]);
  await backUp(engine, join(folder, "a.backup"), 0);
  const siteViews = new SiteViews(engine, [brand], 1 << 20);
  const [outcome] = await engine.commit([create("lost")]);
  if (outcome?.kind !== "done") throw new Error("nothing was created");
  await restore(engine, join(folder, "a.backup"), join(folder, "before.backup"), 0);
  await loadUpToDate(siteViews, site.ID);
  siteViews.applyOwnCommit(site.ID, outcome.change, outcome.epoch);
  const shown = [...(await loadUpToDate(siteViews, site.ID)).collection(brand)].map(
    ({ json }) => JSON.parse(json).Name,
  );
  expect(shown).toEqual(["kept"]);
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

test("sites beyond the memory budget are evicted, and loaded again on request", async () => {
  const server = await startTestServer({ settings: { MEMORY: "1" } });
  const keys: string[] = [];
  for (let i = 0; i < 6; i++) {
    const site = await createSite(server.engine, `s${i}`, { hostnames: [`s${i}.example`] }, 0);
    keys.push((await createKey(server.engine, site, {}, 0)).key);
    const intent = createIntent({ site: site.ID, resource: "order-status", values: { Name: "x".repeat(250) } });
    await server.engine.commit(new Array(1500).fill(intent));
  }
  for (let round = 0; round < 2; round++) {
    for (const [i, key] of keys.entries()) {
      const response = await server.call("GET", "/restapi/orderstatuses.json", {
        key,
        headers: { Host: `s${i}.example` },
      });
      expect(response.json).toHaveLength(1500);
    }
  }
  const inMemory = /storefront_sites_in_memory (\d+)/.exec(await server.metrics())?.[1];
  expect(Number(inMemory)).toBeLessThan(6);
  await server.stop();
});

describe("memory budget", () => {
  /** A server with `sites` sites of `records` order statuses each, and functions that read a site and the metrics. */
  async function serverOf(sites: number, records: number, memory: string) {
    const server = await startTestServer({ settings: { MEMORY: memory } });
    const keys: string[] = [];
    for (let i = 0; i < sites; i++) {
      const site = await createSite(server.engine, `s${i}`, { hostnames: [`s${i}.example`] }, 0);
      keys.push((await createKey(server.engine, site, { rights: ["write"] }, 0)).key);
      const create = createIntent({ site: site.ID, resource: "order-status", values: { Name: "x".repeat(250) } });
      await server.engine.commit(new Array(records).fill(create));
    }
    const get = (i: number, path: string, headers: Record<string, string> = {}) =>
      server.call("GET", path, { key: keys[i] as string, headers: { Host: `s${i}.example`, ...headers } });
    const figure = async (name: string) =>
      Number(new RegExp(`storefront_${name} (\\d+)`).exec(await server.metrics())?.[1]);
    return { server, get, figure };
  }

  test("is kept even if clients request every kind of list of sites in memory", async () => {
    const { server, get, figure } = await serverOf(5, 500, "1");
    for (let i = 0; i < 5; i++) await get(i, "/restapi/orderstatuses.json");
    expect(await figure("sites_in_memory")).toBeGreaterThan(5);
    const largest = 0.4 * 1024 * 1024;
    let fewest = 6;
    for (const path of [
      "orderstatuses.xml",
      "orderstatuses.json",
      "orderstatuses.json?sort=-Name",
      "orderstatuses.json?filter[Name][contains]=X",
    ]) {
      for (const coding of ["identity", "gzip", "zstd"]) {
        for (let i = 0; i < 5; i++) {
          const response = await get(i, `/restapi/${path}`, { "Accept-Encoding": coding });
          expect(response.headers.get("X-Total-Count")).toBe("500");
        }
        // Snapshots are measured when they're used, at most ten times a second.
        await waitUntil(async () => {
          await get(0, "/restapi/orderstatuses/1.json");
          return (await figure("snapshot_bytes")) < 1024 * 1024 + largest;
        }, "less memory");
        fewest = Math.min(fewest, await figure("sites_in_memory"));
      }
    }
    expect(fewest).toBeLessThan(6);
    await server.stop();
  });

  test("a site larger than the budget is served and stays in memory", async () => {
    const { server, get, figure } = await serverOf(2, 3000, "1");
    for (let round = 0; round < 2; round++) {
      for (const i of [0, 0, 1, 1]) {
        expect((await get(i, "/restapi/orderstatuses.json")).json).toHaveLength(3000);
        expect((await get(i, "/restapi/orderstatuses.xml")).headers.get("X-Total-Count")).toBe("3000");
        expect(await figure("sites_in_memory")).toBe(2);
      }
    }
    await server.stop();
  });

  test("a site in use isn't evicted when only the system site is read, as webhooks do", async () => {
    const { engine, site, stop } = await startTestServer();
    await engine.commit([createIntent({ site: site.ID, values: { Name: "x".repeat(250) } })]);
    const siteViews = new SiteViews(engine, [brand], 1);
    const loaded = await loadUpToDate(siteViews, site.ID);
    // The next use measures the snapshots.
    await letPass(measureIntervalMs);
    await siteViews.getUpToDate(systemSite);
    expect(await siteViews.getUpToDate(site.ID)).toBe(loaded);
    await stop();
  });

  test("a site in use isn't evicted when another process writes to it", async () => {
    const { engine, site, stop } = await startTestServer();
    const create = createIntent({ site: site.ID, values: { Name: "x".repeat(250) } });
    await engine.commit(new Array(100).fill(create));
    const siteViews = new SiteViews(engine, [brand], 1);
    const loaded = await loadUpToDate(siteViews, site.ID);
    await engine.commit([create]);
    expect(await loadUpToDate(siteViews, site.ID)).toBe(loaded);
    expect((await loaded.collection(brand).version()).size).toBe(101);
    await stop();
  });
});
