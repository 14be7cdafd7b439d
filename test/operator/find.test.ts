// Searching for records in all sites (operator/sites/find-in-sites.ts).

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { createRecord, deleteRecords } from "../../src/operator/records/records.ts";
import { findInSites } from "../../src/operator/sites/find-in-sites.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import { engines } from "../support/engine/engines.ts";

const limits = { results: 50, durationMs: 60_000, isWanted: () => true };

describe.each(engines)("search in all sites on $name", (kind) => {
  let engine: Engine;
  let sites: SiteRecord[];
  beforeAll(async () => {
    await kind.open();
    engine = await openEngine(await kind.newDatabase(), allResources);
    sites = [];
    for (const name of ["garden", "toys", "wine"]) sites.push(await createSite(engine, name, {}, 1));
    await create("garden", "brand", { Name: "Acme", AccountNumber: "ACC-1" });
    await create("toys", "brand", { Name: 'Quote " and \\ and <b>é', Address: { Town: "Leeds" } });
    await create("toys", "brand", { Name: "Acme", AccountNumber: "7" });
    await create("wine", "location", { Name: "High Street", Code: "NCL-01" });
    await create("wine", "order-status", { Name: "Acme" });
    const { ID } = await create("wine", "brand", { Name: "Gone" });
    await deleteRecords(engine, siteId("wine"), resource("brand"), [ID], 1);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const resource = (name: string) => {
    const found = allResources.find((one) => one.name === name);
    if (!found) throw new Error(name);
    return found;
  };
  const siteId = (name: string) => sites.find(({ Name }) => Name === name)?.ID ?? 0;
  const create = async (site: string, name: string, values: object) =>
    (await createRecord(engine, siteId(site), resource(name), values, 1)).record as { ID: number };

  const cases: [string, string, string[]][] = [
    ["finds a name", "Acme", ["garden brands/1 Name", "toys brands/2 Name", "wine orderstatuses/1 Name"]],
    ["finds an account number", "ACC-1", ["garden brands/1 AccountNumber"]],
    ["finds a code", "NCL-01", ["wine locations/1 Code"]],
    ["finds an ID", "2", ["toys brands/2 ID"]],
    ["finds a number that is not an ID", "7", ["toys brands/2 AccountNumber"]],
    ["finds a name that contains characters that JSON escapes", 'Quote " and \\ and <b>é', ["toys brands/1 Name"]],
    ["doesn't find part of a name", "Acm", []],
    ["doesn't find a deleted record", "Gone", []],
    ["doesn't find a value inside a field group", "Leeds", []],
    ["doesn't find a field's name", "Name", []],
    ["finds nothing for an ID above all others", "9999999999999999", []],
  ];
  test.each(cases)("%s", async (_, text, expected) => {
    const { found, next } = await findInSites(engine, sites, text, limits);
    expect(found.map(({ site, resource: path, id, field }) => `${site} ${path}/${id} ${field}`)).toEqual(expected);
    expect(next).toBeUndefined();
  });

  test("stops after the site that reaches the number of results, and can be continued with the next one", async () => {
    const first = await findInSites(engine, sites, "Acme", { ...limits, results: 1 });
    expect(first).toMatchObject({ found: [{ site: "garden" }], next: siteId("garden") });
    const rest = sites.filter(({ ID }) => ID > (first.next ?? 0));
    const { found, next } = await findInSites(engine, rest, "Acme", limits);
    expect(found.map(({ site }) => site)).toEqual(["toys", "wine"]);
    expect(next).toBeUndefined();
  });

  test("reads at least one site if the time is up or the client has disconnected, then stops", async () => {
    const none = await findInSites(engine, sites, "nothing", { ...limits, durationMs: 0 });
    expect(none).toEqual({ found: [], next: siteId("garden") });
    const gone = await findInSites(engine, sites, "nothing", { ...limits, isWanted: () => false });
    expect(gone.next).toBe(siteId("garden"));
  });
});
