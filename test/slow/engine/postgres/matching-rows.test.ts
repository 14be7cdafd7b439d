// Searching many sites takes few queries, and finds the same as reading every record.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Engine } from "../../../../src/model/engine.ts";
import { findInSites } from "../../../../src/operator/sites/find-in-sites.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { parseAddress } from "../../../../src/store/postgres/address.ts";
import { Pool } from "../../../../src/store/postgres/pool.ts";
import { createPrimary } from "../../../../src/store/postgres/primary.ts";
import { readMatchingRows } from "../../../../src/store/postgres/reads.ts";
import { sql } from "../../../../src/store/postgres/statements.ts";
import { createIntent } from "../../../support/engine/intents.ts";
import { type OpenedDatabases, openDatabases } from "../../../support/postgres/databases.ts";

const limits = { results: 50, durationMs: 60_000, isWanted: () => true };
/** 40 sites. Every fourth one has 12 brands, the others have up to 3. */
const sites = Array.from({ length: 40 }, (_, at) => ({ ID: at + 1, Name: `site ${at + 1}` }));
const brandsOf = (site: number) => (site % 4 === 0 ? 12 : site % 3);

let databases: OpenedDatabases;
let database: string;
let engine: Engine;
let pool: Pool;
beforeAll(async () => {
  databases = await openDatabases();
  const url = `${await databases.createDatabase()}?statement_timeout=50000`;
  database = /[^/]+(?=\?)/.exec(url)?.[0] as string;
  engine = await openEngine(url, allResources);
  await engine.commit(
    sites.flatMap(({ ID: site }) =>
      Array.from({ length: brandsOf(site) }, (_, at) =>
        createIntent({ site, values: { Name: `Brand ${at}`, Address: { Country: "GB" } } }),
      ),
    ),
  );
  pool = new Pool(createPrimary(parseAddress(url)), 2);
});
afterAll(async () => {
  await pool.close();
  await engine.close();
  await databases.remove();
});

const ids = sites.map(({ ID }) => ID);
const everything = { sites: 1000, records: 1000, rows: 1000 };
const read = (text: string, given: Partial<typeof everything> = {}, from = ids) =>
  pool.read((connection) => readMatchingRows(connection, from, { id: undefined, text }, { ...everything, ...given }));

test("search: small sites are searched without reading them", async () => {
  let queries = 0;
  const counted = {
    readMatchingRows: (...args: Parameters<NonNullable<Engine["readMatchingRows"]>>) => {
      queries++;
      return (engine.readMatchingRows as NonNullable<Engine["readMatchingRows"]>)(...args);
    },
    readSite: () => Promise.reject(new Error("a site was read")),
  };
  const { found, next } = await findInSites(counted, sites, "Brand 11", limits);
  expect(found.map(({ site }) => site)).toEqual(sites.filter(({ ID }) => ID % 4 === 0).map(({ Name }) => Name));
  expect(next).toBeUndefined();
  expect(queries).toBe(1);
});

test("search: a query covers as many sites as the limits for sites and records allow", async () => {
  expect((await read('"Brand 0"', { sites: 7 })).siteCount).toBe(7);
  // The sites 1 to 4 have 1, 2, 0 and 12 brands.
  expect((await read('"Brand 0"', { records: 14 })).siteCount).toBe(3);
  expect((await read('"Brand 0"', { records: 15 })).rows.map(({ site }) => site)).toEqual([1, 2, 4]);
  expect(await read('"Brand 0"', { records: 11 }, [4, 5])).toEqual({ siteCount: 0, rows: [] });
});

test("search: too many matches means the first omitted row's site wasn't read", async () => {
  const some = await read('"GB"', { rows: 5 });
  expect(some.siteCount).toBe(3);
  expect(some.rows.map(({ site, id }) => [site, id])).toEqual([
    [1, 1],
    [2, 1],
    [2, 2],
  ]);
  expect(await read('"GB"', { rows: 5 }, [4, 5])).toEqual({ siteCount: 0, rows: [] });
});

test.each([
  ["few sites", { sites: 3 }],
  ["few records", { records: 10 }],
  ["few rows", { rows: 4 }],
  ["one row", { rows: 1 }],
])("with queries of %s, a search finds the same as reading every site", async (_, given) => {
  const small: typeof engine = {
    ...engine,
    readMatchingRows: (from, search) =>
      pool.read((connection) => readMatchingRows(connection, from, search, { ...everything, ...given })),
  };
  for (const text of ["Brand 0", "Brand 2", "Brand 11", "GB", "Name", "3", "12", "nothing"]) {
    for (const results of [1, 7, 1000]) {
      const expected = await findInSites({ readSite: engine.readSite }, sites, text, { ...limits, results });
      expect(await findInSites(small, sites, text, { ...limits, results })).toEqual(expected);
    }
  }
});

test("search: finds records by their site's key, whatever the statistics say", async () => {
  const plan = async () => {
    const call = `${sql.beginLookUp}; prepare matching as ${sql.matchingRows(500)}; explain execute matching('[{"id":1},{"id":2}]', 1, '"x"'); commit`;
    return JSON.stringify(await databases.run(call, database));
  };
  for (const statistics of ["", "analyze"]) {
    if (statistics) await databases.run(statistics, database);
    expect(await plan()).not.toContain("Seq Scan on records");
    expect(await plan()).toContain("on records");
  }
});
