// Two versions of the program share a database. The newer one declares fields that the older one doesn't have.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../src/config.ts";
import { createApiKey } from "../../../src/model/api-key.ts";
import { type Fields, group, type TextField, text } from "../../../src/model/field.ts";
import { defineResource, type Resource } from "../../../src/model/resource.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { copyDatabase } from "../../../src/operator/backup/copy.ts";
import { type FileFormat, readRows } from "../../../src/operator/import/file-rows.ts";
import { importRecords } from "../../../src/operator/import/import-records.ts";
import { restoreRecord } from "../../../src/operator/journal/restore-record.ts";
import { exportRecords } from "../../../src/operator/records/export-records.ts";
import { listKeys, revokeKey } from "../../../src/operator/sites/keys.ts";
import { createSite, listSites, setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { brand } from "../../../src/resources/brand.ts";
import { address } from "../../../src/resources/contact.ts";
import { type Running, start } from "../../../src/start.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { createConformance } from "../../support/http/conformance.ts";
import { type CallOptions, call, startTestServer, type TestServer } from "../../support/http/server.ts";

const website = text({ max: 255, description: "Where it is on the web.", example: "https://acme.example" });
const region = text({ max: 64, description: "Region.", example: "North East" });
const { Name, Address: _, ...otherFields } = brand.fields as Fields;
const { Title, ...restOfAddress } = address.fields as Fields;

/** The newer program's brand, with a field added in the middle, one in a group, and a new group. */
const newerBrand = defineResource({
  ...brand,
  fields: {
    Name,
    Website: website,
    ...otherFields,
    Address: group(address.description, { Title, Region: region, ...restOfAddress } as Fields),
    Social: group("Where people talk about it.", { Fediverse: website }),
  } as Fields & { readonly Name: TextField },
});
const newerResources: readonly Resource[] = allResources.map((one) => (one.name === "brand" ? newerBrand : one));
const newerConformance = createConformance(newerResources);

const folder = mkdtempSync(join(tmpdir(), "storefront-versions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(engines)("two versions at once on $name", (kind) => {
  let older: TestServer;
  let newer: Running;
  beforeAll(async () => {
    await kind.open();
    older = await startTestServer({ settings: { DATABASE: await kind.newEmptyDatabase() } });
    newer = await startNewer(older.database);
  });
  afterAll(async () => {
    await newer?.stop();
    await older?.stop();
    await kind.close();
  });

  const asNewer = (method: string, path: string, options: CallOptions = {}) =>
    call(`${newer.url}${path}`, method, { key: older.key, ...options }, newerConformance);

  /** A brand stored by the older program. */
  async function oldBrand(body: object = { Name: "Acme", Address: { Title: "Ms", Town: "Ulm" } }): Promise<number> {
    return (await older.call("POST", "/restapi/brands.json", { body })).json.ID;
  }

  /** A brand stored by the newer program. */
  async function newBrand(): Promise<number> {
    const body = {
      Name: "Acme",
      Website: "https://acme.example",
      Address: { Region: "Swabia", Town: "Ulm" },
      Social: { Fediverse: "@acme" },
    };
    return (await asNewer("POST", "/restapi/brands.json", { body })).json.ID;
  }

  /** The new fields of a record, as the newer program serves them. */
  async function newFields(id: number, server: { url: string } = newer) {
    const { json } = await call(`${server.url}/restapi/brands/${id}.json`, "GET", { key: older.key }, newerConformance);
    return [json.Website, json.Address.Region, json.Social.Fediverse];
  }
  const kept = ["https://acme.example", "Swabia", "@acme"];

  /** A record with only these fields set, as the newer program serves it. */
  const whole = (id: number, { Name = "Acme", Website = "", Title = "Ms", Town = "Ulm" } = {}) => ({
    ID: id,
    Name,
    Website,
    AccountNumber: "",
    Telephone: { Daytime: "", Evening: "", Mobile: "" },
    Address: {
      Title,
      Region: "",
      Firstname: "",
      Surname: "",
      AddressLine1: "",
      AddressLine2: "",
      Town,
      County: "",
      Postcode: "",
      Country: "",
    },
    Social: { Fediverse: "" },
  });

  test("an older record has every field, in the order of the declaration, in every response", async () => {
    const id = await oldBrand();
    const expected = JSON.stringify(whole(id));
    expect((await asNewer("GET", `/restapi/brands/${id}.json`)).text).toBe(expected);
    expect((await asNewer("GET", "/restapi/brands.json")).text).toContain(expected);
    expect((await asNewer("GET", `/restapi/brands.json?filter[ID]=${id}&limit=1`)).text).toBe(`[${expected}]`);
    const xml =
      `<Brand ID="${id}"><Name>Acme</Name><Website></Website><AccountNumber></AccountNumber><Telephone><Daytime></Daytime>` +
      "<Evening></Evening><Mobile></Mobile></Telephone><Address><Title>Ms</Title><Region></Region><Firstname></Firstname>";
    expect((await asNewer("GET", `/restapi/brands/${id}.xml`)).text).toContain(xml);
    expect((await asNewer("GET", "/restapi/brands.xml")).text).toContain(xml);
  });

  test("`fields`, `filter` and `sort` support an older record's new fields", async () => {
    const [id, later] = [await oldBrand({ Name: "Nova" }), await oldBrand({ Name: "Nova" })];
    await asNewer("PUT", `/restapi/brands/${id}.json`, { body: { Website: "https://z.example" } });
    const list = (query: string) => asNewer("GET", `/restapi/brands.json?filter[Name]=Nova&${query}`);
    expect((await list("fields=Website,Address.Region,Social")).json).toEqual([
      { ID: id, Website: "https://z.example", Address: { Region: "" }, Social: { Fediverse: "" } },
      { ID: later, Website: "", Address: { Region: "" }, Social: { Fediverse: "" } },
    ]);
    expect((await list("filter[Website]=&fields=ID")).json).toEqual([{ ID: later }]);
    expect((await list("sort=Website&fields=ID")).json).toEqual([{ ID: later }, { ID: id }]);
    expect((await older.call("GET", "/restapi/brands.json?sort=Website")).status).toBe(400);
  });

  test("responses to writes have every field in order: update, unchanged, replay and delete", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const body = { Name: "Acme", Address: { Title: "Ms", Town: "Ulm" } };
    const created = await older.call("POST", "/restapi/brands.json", { body, headers });
    const id = created.json.ID;
    const replayed = await asNewer("POST", "/restapi/brands.json", { body: JSON.stringify(body), headers });
    expect([replayed.status, replayed.headers.get("Idempotency-Replayed")]).toEqual([201, "true"]);
    expect(replayed.text).toBe(JSON.stringify(whole(id)));
    const put = (values: object) => asNewer("PUT", `/restapi/brands/${id}.json`, { body: values });
    expect((await put({ Name: "Acme" })).text).toBe(JSON.stringify(whole(id)));
    const Website = "https://acme.example";
    expect((await put({ Website })).text).toBe(JSON.stringify(whole(id, { Website })));
    expect((await asNewer("GET", `/restapi/brands/${id}.json`)).text).toBe(JSON.stringify(whole(id, { Website })));
    const deleted = await asNewer("DELETE", `/restapi/brands/${id}.json`);
    expect(deleted.text).toBe(JSON.stringify(whole(id, { Website })));
  });

  test("an update with an empty value for a field that was never stored changes nothing", async () => {
    const id = await oldBrand();
    const before = await asNewer("GET", `/restapi/brands/${id}.json`);
    const heads = await newer.engine.readHeads([older.site.ID]);
    const same = await asNewer("PUT", `/restapi/brands/${id}.json`, { body: before.json });
    expect([same.status, same.headers.get("ETag"), same.text]).toEqual([200, before.headers.get("ETag"), before.text]);
    expect(await newer.engine.readHeads([older.site.ID])).toEqual(heads);
  });

  test("one version's tag doesn't match a read of the other, but allows an update through it", async () => {
    const id = await oldBrand();
    const path = `/restapi/brands/${id}.json`;
    const [theirs, ours] = [await older.call("GET", path), await asNewer("GET", path)];
    const tag = theirs.headers.get("ETag") as string;
    expect(ours.headers.get("ETag")).not.toBe(tag);
    expect((await asNewer("GET", path, { headers: { "If-None-Match": tag } })).status).toBe(200);
    const list = await older.call("GET", "/restapi/brands.json");
    const listTag = { "If-None-Match": list.headers.get("ETag") as string };
    expect((await asNewer("GET", "/restapi/brands.json", { headers: listTag })).status).toBe(200);
    expect((await older.call("GET", "/restapi/brands.json", { headers: listTag })).status).toBe(304);
    const put = (Title: string, ifMatch: string) =>
      asNewer("PUT", path, { body: { Address: { Title } }, headers: { "If-Match": ifMatch } });
    expect((await put("Mr", tag)).status).toBe(200);
    expect((await put("Dr", tag)).status).toBe(412);
    const newest = (await asNewer("GET", path)).headers.get("ETag") as string;
    expect((await older.call("PUT", path, { body: { Name: "Bolt" }, headers: { "If-Match": newest } })).status).toBe(
      200,
    );
  });

  test("the older version serves newer records without the fields it doesn't know", async () => {
    const id = await newBrand();
    for (const path of [`/restapi/brands/${id}.json`, `/restapi/brands/${id}.xml`, "/restapi/brands.json"]) {
      const { status, text } = await older.call("GET", path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toMatch(/Website|Region|Social|Fediverse/);
    }
    expect((await older.call("GET", `/restapi/brands.json?filter[ID]=${id}&fields=Address`)).text).not.toContain(
      "Region",
    );
  });

  test("the older version's writes keep fields it doesn't know", async () => {
    const id = await newBrand();
    const read = await older.call("GET", `/restapi/brands/${id}.json`);
    const body = { ...read.json, Name: "Bolt", Address: { ...read.json.Address, Town: "Bonn" } };
    const updated = await older.call("PUT", "/restapi/brands.json", { body });
    expect(updated.text).toBe(JSON.stringify(body));
    expect(await newFields(id)).toEqual(kept);
    const again = await older.call("PUT", "/restapi/brands.xml", {
      body: `<Brand ID="${id}"><Address><Town>Köln</Town></Address></Brand>`,
    });
    expect(again.text).not.toContain("Region");
    expect(await newFields(id)).toEqual(kept);
    expect((await older.call("DELETE", `/restapi/brands/${id}.json`)).text).not.toContain("Website");
  });

  test("the older version's restore-record restores fields it doesn't know", async () => {
    const id = await newBrand();
    await older.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "Bolt" } });
    await restoreRecord(older.engine, older.site.ID, brand, id, undefined, Date.now());
    expect(await newFields(id)).toEqual(kept);
    await older.call("DELETE", `/restapi/brands/${id}.json`);
    await restoreRecord(older.engine, older.site.ID, brand, id, undefined, Date.now());
    expect(await newFields(id)).toEqual(kept);
  });

  test("the older version's import keeps fields it doesn't know, and importing its export changes nothing", async () => {
    const id = await newBrand();
    const row = `ID,Name,Address.Town\r\n${id},Imported,Bonn\r\n`;
    const now = Date.now;
    const run = (content: string, format: FileFormat) =>
      importRecords(older.engine, older.site.ID, brand, readRows(brand, bytesOf(content), format), { now });
    expect(await run(row, "csv")).toMatchObject({ updated: 1, rejected: 0 });
    expect(await newFields(id)).toEqual(kept);
    for (const format of ["csv", "json", "xml"] as const) {
      const exported = (await Array.fromAsync(exportRecords(older.engine, older.site.ID, brand, format))).join("");
      expect(exported).not.toMatch(/Website|Region|Social/);
      expect(await run(exported, format)).toMatchObject({ created: 0, updated: 0, rejected: 0, faults: [] });
    }
    expect(await newFields(id)).toEqual(kept);
  });

  test("the newer version's export has every field of an older record, in order", async () => {
    const id = await oldBrand({ Name: "Only a name" });
    const text = async (format: FileFormat) =>
      (await Array.fromAsync(exportRecords(newer.engine, older.site.ID, newerBrand, format))).join("");
    expect(await text("json")).toContain(JSON.stringify(whole(id, { Name: "Only a name", Title: "", Town: "" })));
    expect(await text("xml")).toContain(`<Brand ID="${id}"><Name>Only a name</Name><Website></Website><AccountNumber>`);
    expect(await text("csv")).toContain(`${id},Only a name,,,,,,,,,,,,,,,,\r\n`);
  });

  test("the older version's copy, backup and restore keep fields it doesn't know", async () => {
    const id = await newBrand();
    const copy = await kind.newEmptyDatabase();
    const target = await openEngine(copy, allResources);
    await copyDatabase(older.engine, target);
    const file = join(folder, `${crypto.randomUUID()}.backup`);
    await backUp(target, file, Date.now());
    await restore(target, file, `${file}.before`, Date.now());
    await target.close();
    const copied = await startNewer(copy);
    expect(await newFields(id, copied)).toEqual(kept);
    await copied.stop();
  });

  describe("a site or key record that lacks fields", () => {
    let database: string;
    let running: Running;
    beforeAll(async () => {
      database = await kind.newEmptyDatabase();
      running = await startNewer(database);
      await createSite(running.engine, "other", { hostnames: ["other.example"] }, 1);
    });
    afterAll(() => running.stop());

    const key = createApiKey();
    const status = async () => (await call(`${running.url}/restapi/brands.json`, "GET", { key: key.key })).status;
    const put = (resource: string, values: object) =>
      running.engine.commit([createIntent({ site: 0, resource, values })]);

    test("is valid at once and after a restart", async () => {
      expect(await status()).toBe(421);
      await put("site", { Name: "old", Default: "yes" });
      expect(await status()).toBe(401);
      const { prefix, digest } = key;
      await put("key", { Site: "2", Prefix: prefix, Digest: digest, Scope: "read" });
      expect(await status()).toBe(200);
      await running.stop();
      running = await startNewer(database);
      expect(await status()).toBe(200);
    });

    test("can be listed and changed", async () => {
      const { engine } = running;
      const site = {
        ID: 2,
        Name: "old",
        Hostnames: "",
        Default: "yes",
        Suspended: "",
        Importing: "",
        SandboxOf: "",
        KeyWebhooks: "",
        UID: "",
      } as const;
      expect((await listSites(engine))[1]).toEqual(site);
      expect(await setSite(engine, "old", { isDefault: true }, 1)).toEqual(site);
      const [listed] = await listKeys(engine, site);
      expect(listed).toMatchObject({ Prefix: key.prefix, Label: "", Rate: "", Expires: "", Revoked: "" });
      expect(await revokeKey(engine, key.prefix, Date.parse("2026-01-01T00:00:00Z"))).toMatchObject({
        Label: "",
        Expires: "",
        Revoked: "2026-01-01T00:00:00.000Z",
      });
    });

    test("is rejected once revoked, at once and after a restart", async () => {
      expect(await status()).toBe(401);
      await running.stop();
      running = await startNewer(database);
      expect(await status()).toBe(401);
    });
  });

  describe("reporting view", () => {
    const columns = async (url: string) =>
      Object.keys((await kind.select(url, "select * from brand limit 1"))[0] as object);

    test("gets a column for a new field, empty for older records, and keeps the order of the others", async () => {
      const url = await kind.newEmptyDatabase();
      const before = await openEngine(url, allResources);
      await before.commit([createIntent()]);
      const old = await columns(url);
      await kind.select(url, "create view mine as select name from brand");
      const after = await openEngine(url, newerResources);
      expect(await columns(url)).toEqual([...old, "website", "address_region", "social_fediverse"]);
      expect(await kind.select(url, "select name, website, address_region, address_town from brand")).toEqual([
        { name: "Acme", website: "", address_region: "", address_town: "" },
      ]);
      expect(await kind.select(url, "select * from mine")).toEqual([{ name: "Acme" }]);
      await before.close();
      await after.close();
    });

    test("doesn't change when an older version starts, however often the two alternate", async () => {
      const url = await kind.newEmptyDatabase();
      await (await openEngine(url, newerResources)).close();
      const made = await definition(url);
      for (const resources of [allResources, newerResources, allResources]) {
        await (await openEngine(url, resources)).close();
        expect(await definition(url)).toEqual(made);
      }
    });

    test("is replaced if an earlier version of the program made it differently", async () => {
      const url = await kind.newEmptyDatabase();
      const engine = await openEngine(url, allResources);
      await engine.commit([createIntent()]);
      await kind.select(url, "drop view brand");
      await kind.select(url, "create view brand as select id, 'x' as address_town, 'y' as name from records");
      if (kind.name === "PostgreSQL") await kind.select(url, "update storefront_schema set views = 'a digest'");
      await (await openEngine(url, allResources)).close();
      expect(await kind.select(url, "select name, address_town from brand")).toEqual([
        { name: "Acme", address_town: "" },
      ]);
      await engine.close();
    });

    /** The view's entry in the catalog, which changes when the view is replaced. */
    const definition = (url: string) =>
      kind.select(
        url,
        kind.name === "SQLite"
          ? "select sql, schema_version from sqlite_master, pragma_schema_version where name = 'brand'"
          : "select pg_get_viewdef(oid), oid, xmin::text from pg_class where relname = 'brand'",
      );
  });
});

function startNewer(database: string): Promise<Running> {
  return start(readConfig({ PORT: "0", LOG: "silent", DATABASE: database }), { resources: newerResources });
}

async function* bytesOf(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}
