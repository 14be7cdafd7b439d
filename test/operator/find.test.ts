// Finding records over all sites (operator/find-in-sites.ts).

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { findInSites } from "../../src/operator/find-in-sites.ts";
import { createRecord, deleteRecords } from "../../src/operator/records.ts";
import { addSite } from "../../src/operator/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import type { SiteRecord } from "../../src/system/system-records.ts";
import { engines } from "../support/engines.ts";

const limits = { results: 50, duration: 60_000, isWanted: () => true };

describe.each(engines)("find on $name", (kind) => {
  let engine: Engine;
  let sites: SiteRecord[];
  beforeAll(async () => {
    await kind.open();
    engine = await openEngine(await kind.newDatabase(), allResources);
    sites = [];
    for (const name of ["garden", "toys", "wine"]) sites.push(await addSite(engine, name, {}, 1));
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
    ["a name", "Acme", ["garden brands/1 Name", "toys brands/2 Name", "wine orderstatuses/1 Name"]],
    ["an account number", "ACC-1", ["garden brands/1 AccountNumber"]],
    ["a code", "NCL-01", ["wine locations/1 Code"]],
    ["an ID", "2", ["toys brands/2 ID"]],
    ["a number that is no ID", "7", ["toys brands/2 AccountNumber"]],
    ["a name that JSON writes otherwise", 'Quote " and \\ and <b>é', ["toys brands/1 Name"]],
    ["a part of a name", "Acm", []],
    ["a deleted record", "Gone", []],
    ["a value inside of a group", "Leeds", []],
    ["the name of a field", "Name", []],
    ["an ID beyond all", "9999999999999999", []],
  ];
  test.each(cases)("%s", async (_, text, expected) => {
    const { found, next } = await findInSites(engine, sites, text, limits);
    expect(found.map(({ site, resource: path, id, field }) => `${site} ${path}/${id} ${field}`)).toEqual(expected);
    expect(next).toBeUndefined();
  });

  test("stops after enough results, and goes on after that site", async () => {
    const first = await findInSites(engine, sites, "Acme", { ...limits, results: 1 });
    expect(first).toMatchObject({ found: [{ site: "garden" }], next: siteId("garden") });
    const rest = sites.filter(({ ID }) => ID > (first.next ?? 0));
    const { found, next } = await findInSites(engine, rest, "Acme", limits);
    expect(found.map(({ site }) => site)).toEqual(["toys", "wine"]);
    expect(next).toBeUndefined();
  });

  test("reads one site at least when the time is over, and none after the client has gone", async () => {
    const none = await findInSites(engine, sites, "nothing", { ...limits, duration: 0 });
    expect(none).toEqual({ found: [], next: siteId("garden") });
    const gone = await findInSites(engine, sites, "nothing", { ...limits, isWanted: () => false });
    expect(gone.next).toBe(siteId("garden"));
  });
});
