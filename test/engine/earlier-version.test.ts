// The databases and the backup of an earlier version (c58fcee), in the folder `earlier-version`: they are migrated, and its
// statements work on the tables beside a running server. What the current version stores must not break them.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readConfig } from "../../src/config.ts";
import { backUp, restore } from "../../src/operator/backup.ts";
import { readEntries, restoreRecord } from "../../src/operator/history.ts";
import { pruneJournals } from "../../src/operator/prune-journals.ts";
import { exportSite } from "../../src/operator/site-files/export-site.ts";
import { importSite } from "../../src/operator/site-files/import-site.ts";
import { removeSite } from "../../src/operator/site-removal.ts";
import { addSite, setSite } from "../../src/operator/sites.ts";
import { undo } from "../../src/operator/undo.ts";
import { brand } from "../../src/resources/brand.ts";
import { type Running, start } from "../../src/start.ts";
import {
  changeAsEarlier,
  dropSiteAsEarlier,
  type EarlierChange,
  readAsEarlier,
  storeResponseAsEarlier,
} from "../earlier-version/statements.ts";
import { type EngineKind, engines } from "../support/engines.ts";
import { type CallOptions, call } from "../support/server.ts";

const fileOf = (name: string) => fileURLToPath(new URL(`../earlier-version/${name}`, import.meta.url));
const textOf = (name: string) => readFileSync(fileOf(name), "utf8");

const keys = {
  shop: "sfk_HxKxlPdNcTb6vO1LNr7qG4YDkeV4kXFTMxgQ446Fnq",
  revoked: "sfk_3KTJkAmwZzaexYFvtcwZ5TE5VwpQMhdjsGKE10KVIF",
  garden: "sfk_uM3lq0ZbCY5ocZoNqKm0T6uuh86BCZIwTYFg0PI022",
};

const garden = { key: keys.garden, headers: { Host: "garden.example" } };

/** The request for which the earlier version has stored a response. */
const stored = {
  headers: { "Idempotency-Key": "order-1" },
  body: '{"Name":"Acme","AccountNumber":"A1","Address":{"Title":"Ms","Town":"Ulm"}}',
};

for (const kind of engines) {
  describe(kind.name, () => {
    let folder: string;
    let server: Running;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "storefront-earlier-"));
      await kind.open();
    });
    afterAll(async () => {
      await kind.close();
      rmSync(folder, { recursive: true });
    });

    const request = (method: string, path: string, options: CallOptions = {}) =>
      call(`${server.url}/restapi/${path}`, method, { key: keys.shop, ...options });
    const names = async (path = "brands.json") =>
      (await request("GET", path)).json.map(({ ID, Name }: { ID: number; Name: string }) => [ID, Name]);
    const restart = async (url: string) => {
      server = await start(readConfig({ PORT: "0", LOG: "silent", ADMIN: "none", DATABASE: url }));
    };

    describe("a database of the earlier version", () => {
      beforeAll(async () => restart(await earlierDatabase(kind)));
      afterAll(() => server.stop());

      test("has its records, keys and counts", async () => {
        const brands = [
          [1, "Acme"],
          [2, "Bolt GmbH"],
          [3, "Line\nbreak"],
        ];
        expect(await names()).toEqual(brands);
        expect(await names("locations.json")).toEqual([
          [1, "Ulm"],
          [2, "Köln"],
        ]);
        expect((await request("GET", "orderstatuses.xml")).text).toContain(
          '<OrderStatus ID="1"><Name>Paid</Name></OrderStatus></Results>',
        );
        expect((await request("GET", "brands.json?limit=1")).headers.get("X-Total-Count")).toBe("3");
        expect((await request("GET", "brands.json", { key: keys.revoked })).status).toBe(401);
        expect((await request("GET", "brands.json", { key: keys.garden })).status).toBe(403);
        expect((await request("GET", "brands/1.json", garden)).json.Name).toBe("Rose");
      });

      test("gives the stored response to a repeated request", async () => {
        const { status, headers, json } = await request("POST", "brands.json", stored);
        expect([status, headers.get("Idempotency-Replayed"), json.ID]).toEqual([201, "true", 1]);
        expect(await names()).toHaveLength(3);
      });

      test("has its history: a record is restored, and changes without a record before the change are undone", async () => {
        const { engine } = server;
        const operations = await Array.fromAsync(readEntries(engine, 1), ({ operation }) => operation);
        expect(operations.slice(-3)).toEqual(["create", "update", "update"]);
        await restoreRecord(engine, 1, brand, 2, undefined, Date.now());
        expect((await request("GET", "brands/2.json")).json.Name).toBe("Bolt & Söhne");
        expect(await undo(engine, 1, { since: 3, until: 12 }, { at: Date.now(), force: true })).toMatchObject({
          left: [],
        });
        expect((await request("GET", "brands/1.json")).json.AccountNumber).toBe("A1");
        expect(await names("locations.json")).toEqual([]);
        expect(await engine.findInconsistencies()).toEqual([]);
      });

      test("can be moved as a site, and never uses an ID twice", async () => {
        const file = join(folder, `${kind.name}.site`);
        await exportSite(server.engine, "garden", file, Date.now());
        await removeSite(server.engine, "garden", Date.now());
        const { site } = await importSite(server.engine, file, { now: Date.now });
        expect(site.ID).toBe(3);
        expect((await request("GET", "brands/1.json", garden)).json.Name).toBe("Rose");
        expect((await request("POST", "orderstatuses.json", { body: { Name: "New" } })).json.ID).toBe(3);
        expect(await server.engine.findInconsistencies()).toEqual([]);
      });
    });

    test("a backup of the earlier version is restored, and a backup of this version has all that the earlier one requires", async () => {
      await restart(await kind.newEmptyDatabase());
      const { engine } = server;
      await restore(engine, fileOf("storefront.backup"), join(folder, "none"), Date.now());
      expect(await names()).toHaveLength(3);
      expect(await engine.findInconsistencies()).toEqual([]);
      const made = join(folder, `${kind.name}.backup`);
      await backUp(engine, made, Date.now());
      const [earlier, present] = [contentsOf(fileOf("storefront.backup")), contentsOf(made)];
      expect(present.header).toEqual(earlier.header);
      expect([...present.columns.keys()]).toEqual([...earlier.columns.keys()]);
      for (const [table, columns] of earlier.columns)
        expect(present.columns.get(table)).toEqual(expect.arrayContaining(columns));
      await server.stop();
    });

    describe("the earlier version beside a server of this one", () => {
      let url: string;
      beforeEach(async () => {
        url = await earlierDatabase(kind);
        await restart(url);
      });
      afterEach(() => server.stop());
      const counters = { brand: 4, "order-status": 2, location: 2 };
      const change = (values: Omit<EarlierChange, "counters"> & { counters?: object }) =>
        changeAsEarlier(kind, url, { counters, ...values });
      const makeFour = () => change({ revision: 13, id: 4, values: { Name: "Old" } });

      test("may start: the database does not have a schema version that it rejects", async () => {
        const version =
          kind.name === "SQLite" ? "pragma user_version" : "select version as user_version from storefront_schema";
        const [row] = (await kind.select(url, version)) as { user_version: number }[];
        expect(Number(row?.user_version)).toBe(1);
      });

      test("its changes are in the next response, in the counts and in the history", async () => {
        const tag = (await request("GET", "brands/1.json")).headers.get("ETag") as string;
        await names();
        await makeFour();
        await change({ revision: 14, operation: "update", id: 1, values: { Name: "Acme 2" } });
        await change({ revision: 15, operation: "delete", id: 2, values: { Name: "Bolt GmbH" } });
        const after = [
          [1, "Acme 2"],
          [3, "Line\nbreak"],
          [4, "Old"],
        ];
        expect(await names()).toEqual(after);
        expect((await request("GET", "brands.json?limit=1")).headers.get("X-Total-Count")).toBe("3");
        expect(
          (await request("PUT", "brands/1.json", { body: { Name: "X" }, headers: { "If-Match": tag } })).status,
        ).toBe(412);
        expect((await request("POST", "brands.json", { body: { Name: "New" } })).json.ID).toBe(5);
        await change({
          revision: 17,
          operation: "restore",
          id: 2,
          values: { Name: "Bolt GmbH" },
          counters: { ...counters, brand: 5 },
        });
        expect(await names()).toEqual([after[0], [2, "Bolt GmbH"], ...after.slice(1), [5, "New"]]);
        expect(await server.engine.findInconsistencies()).toEqual([]);
      });

      test("its changes can be undone, also between changes of this version", async () => {
        await request("PUT", "brands/1.json", { body: { Name: "Ours" } });
        await change({
          revision: 14,
          operation: "update",
          id: 1,
          values: { Name: "Theirs" },
          counters: { ...counters, brand: 3 },
        });
        await change({ revision: 15, id: 4, values: { Name: "Old" } });
        await request("PUT", "brands/4.json", { body: { Name: "Ours" } });
        await undo(server.engine, 1, { since: 13 }, { at: Date.now() });
        expect(await names()).toEqual([
          [1, "Ours"],
          [2, "Bolt GmbH"],
          [3, "Line\nbreak"],
        ]);
        expect(await server.engine.findInconsistencies()).toEqual([]);
      });

      test.each([
        [6, 6],
        [13, 12],
      ])("it writes after entries before revision %i were pruned but the last, and the journal begins with %i as it did", async (before, revision) => {
        await pruneJournals(server.engine, [1], { revision: before });
        await makeFour();
        expect(await names()).toHaveLength(4);
        const [first] = await Array.fromAsync(readEntries(server.engine, 1));
        expect(first?.revision).toBe(revision);
        expect(await server.engine.findInconsistencies()).toEqual([]);
        await pruneJournals(server.engine, [1], { revision: 14 });
        expect((await request("PUT", "brands/4.json", { body: { Name: "Ours" } })).status).toBe(200);
        expect(await server.engine.findInconsistencies()).toEqual([]);
      });

      test("a key that it revokes is rejected on the next request", async () => {
        expect((await request("GET", "brands/1.json")).status).toBe(200);
        const [row] = (await kind.select(
          url,
          "select body from records where site_id = 0 and resource = 'key' and id = 1",
        )) as {
          body: string;
        }[];
        const values = { ...JSON.parse(row?.body as string), Revoked: "2026-01-01T00:00:00.000Z" };
        await change({
          site: 0,
          revision: 7,
          operation: "update",
          resource: "key",
          id: 1,
          values,
          counters: { site: 2, key: 3 },
        });
        expect((await request("GET", "brands/1.json")).status).toBe(401);
      });

      test("the response that it stored for an idempotency key is replayed", async () => {
        await makeFour();
        const body = '{"Name":"Old"}';
        const digest = new Bun.CryptoHasher("sha256").update("POST /restapi/brands.json?\n").update(body).digest("hex");
        await storeResponseAsEarlier(kind, url, "order-2", digest);
        const { status, json } = await request("POST", "brands.json", {
          body,
          headers: { "Idempotency-Key": "order-2" },
        });
        expect([status, json.ID, json.Name]).toEqual([201, 4, "Old"]);
        expect(await names()).toHaveLength(4);
      });

      test("a site that it removes is gone on the next request, and its ID stays unused", async () => {
        expect((await request("GET", "brands/1.json", garden)).status).toBe(200);
        const common = { site: 0, operation: "delete", counters: { site: 2, key: 3 } } as const;
        await change({ ...common, revision: 7, resource: "key", id: 3, values: { Site: "2", Prefix: "sfk_uM3lq0Zb" } });
        await change({ ...common, revision: 8, resource: "site", id: 2, values: { Name: "garden" } });
        await dropSiteAsEarlier(kind, url, 2);
        expect((await request("GET", "brands/1.json", garden)).status).toBe(401);
        expect((await addSite(server.engine, "garden", {}, Date.now())).ID).toBe(3);
        expect(await server.engine.findInconsistencies()).toEqual([]);
      });

      test("it reads the data of this version: the entries of the journal give the records of every site", async () => {
        const { engine } = server;
        await request("POST", "brands.json", { body: { Name: "New" }, headers: { "Idempotency-Key": "order-3" } });
        await request("PUT", "brands/1.xml", { body: '<Brand ID="1"><Name>Xml</Name></Brand>' });
        await request("DELETE", "brands/2.json");
        await undo(engine, 1, { since: 12 }, { at: Date.now() });
        await restoreRecord(engine, 1, brand, 1, 1, Date.now());
        await setSite(engine, "garden", { isSuspended: true }, Date.now());
        const file = join(folder, `beside-${kind.name}.site`);
        await exportSite(engine, "shop", file, Date.now());
        const { site } = await importSite(engine, file, { name: "copy", now: Date.now });
        for (const id of [0, 1, 2, site.ID]) {
          const { records, folded, operations } = await readAsEarlier(kind, url, id);
          expect(folded).toEqual(records);
          expect([...operations].filter((one) => !["create", "update", "delete", "restore"].includes(one))).toEqual([]);
        }
      });
    });
  });
}

/** A new database with the tables and rows of the earlier version. Its response for an idempotency key is new, and not expired. */
async function earlierDatabase(kind: EngineKind): Promise<string> {
  const url = await kind.newEmptyDatabase();
  await kind.run(url, textOf(`${kind.name.toLowerCase()}.sql`));
  await kind.run(url, textOf("rows.sql"));
  await kind.run(url, `update idempotency set at = ${Date.now()}`);
  return url;
}

/** The header of a backup without its time, and the columns that the rows of each table have. */
function contentsOf(file: string) {
  const [{ made, ...header }, ...rows] = new TextDecoder()
    .decode(Bun.gunzipSync(readFileSync(file)))
    .trimEnd()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  const columns: [string, string[]][] = rows.map(([table, row]) => [table, Object.keys(row)]);
  return { header, columns: new Map(columns) };
}
