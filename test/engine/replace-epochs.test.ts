// `renew`: after a database was restored by means other than `restore`, a revision may be another change, so no old ETag is accepted.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, setSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";
import { waitUntil } from "../support/time.ts";

describe.each(engines)("new histories on $name", (kind) => {
  let server: TestServer;
  let elsewhere: Engine;
  beforeAll(async () => {
    await kind.open();
    server = await startTestServer({ settings: { DATABASE: await kind.newDatabase() } });
    elsewhere = await openEngine(server.database, allResources);
  });
  afterAll(async () => {
    await elsewhere.close();
    await server.stop();
    await kind.close();
  });

  test("a running server accepts no old ETags, and serves the same records", async () => {
    await server.call("POST", "/restapi/brands.json", { body: { Name: "Acme" } });
    const paths = ["/restapi/brands/1.json", "/restapi/brands.json"];
    const get = (path: string, headers = {}) => server.call("GET", path, { headers });
    const before = await Promise.all(paths.map((path) => get(path)));
    expect(await elsewhere.replaceEpochs()).toBe(1);
    for (const [n, { headers, text }] of before.entries()) {
      const etag = headers.get("ETag") as string;
      const after = await get(paths[n] as string, { "If-None-Match": etag });
      expect([after.status, after.text]).toEqual([200, text]);
      expect(after.headers.get("ETag")).not.toBe(etag);
    }
    const [record] = before;
    const put = (etag: string) =>
      server.call("PUT", "/restapi/brands/1.json", { body: { Name: "New" }, headers: { "If-Match": etag } });
    expect((await put(record?.headers.get("ETag") as string)).status).toBe(412);
    expect((await put((await get("/restapi/brands/1.json")).headers.get("ETag") as string)).status).toBe(200);
    expect(await elsewhere.findInconsistencies()).toEqual([]);
  });

  test("for all sites except removed ones, whose numbers stay unused", async () => {
    const epochs = async (ids: readonly number[]) => (await elsewhere.readHeads(ids)).map(({ epoch }) => epoch);
    const [one, two, gone] = await Promise.all(
      ["one", "two", "gone"].map((name) => createSite(elsewhere, name, {}, 1)),
    );
    const ids = [one, two, gone].map((site) => site?.ID as number);
    await elsewhere.commit(ids.map((site) => createIntent({ site })));
    await removeSite(elsewhere, "gone", 1);
    const before = await epochs([0, ...ids]);
    expect(await elsewhere.replaceEpochs()).toBe(3);
    const after = await epochs([0, ...ids]);
    expect(after.map((epoch, n) => epoch === before[n])).toEqual([false, false, false, true]);
    expect(new Set(after).size).toBe(4);
    expect((await setSite(elsewhere, "one", { name: "uno" }, 1)).ID).toBe(ids[0] as number);
    expect(await elsewhere.readSitesToDrop()).toEqual([]);
  });

  test("not for a site that an import is filling", async () => {
    const { ID } = await createSite(elsewhere, "filled", {}, 1);
    const { promise: stored, resolve: go } = Promise.withResolvers<void>();
    const rows = async function* () {
      await stored;
      yield {
        table: "sites",
        row: { id: ID, epoch: "new", revision: 1, last_ids: "{}", counts: "{}", floor: 1, last_at: 0 },
      };
    };
    const filled = elsewhere.importSiteRows(ID, rows());
    await waitUntil(async () => (await elsewhere.readHeads([ID]))[0]?.epoch !== "", "the import");
    await elsewhere.replaceEpochs();
    go();
    await filled;
    expect((await elsewhere.readHeads([ID]))[0]?.epoch).toMatch(/^[0-9A-Za-z]{8}$/);
    await expect(elsewhere.importSiteRows(ID, rows())).rejects.toMatchObject({ code: "conflict" });
  });
});
