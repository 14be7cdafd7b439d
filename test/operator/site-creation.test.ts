import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { listKeys } from "../../src/operator/sites/keys.ts";
import { createSites, readSiteList } from "../../src/operator/sites/site-creation.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, listSites } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engine/engines.ts";

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const read = (text: string) => readSiteList(bytesOf(text));
const thrown = (work: Promise<unknown>) => work.then(() => undefined).catch((error) => error);

describe("list of sites", () => {
  test("has names, hostnames with any usual separator, and the default site", async () => {
    expect(await read("Name;Hostnames;Default\r\na;a.example  www.a.example;\r\n\r\nb;;YES\r\n")).toEqual([
      { row: 2, name: "a", hostnames: ["a.example", "www.a.example"], isDefault: false },
      { row: 4, name: "b", hostnames: [], isDefault: true },
    ]);
    expect(await read('name,hostnames\n"a","x.example;y.example"\n')).toMatchObject([
      { hostnames: ["x.example", "y.example"] },
    ]);
    expect(await read("name\na\n")).toMatchObject([{ name: "a", hostnames: [] }]);
  });

  const rejected: [string, string, RegExp][] = [
    ["is empty", "", /the file has no sites/],
    ["has only a header", "name\n", /the file has no sites/],
    ["has no names", "hostnames\nx\n", /first row must name the columns: `name`, `hostnames`, `default`/],
    ["has an unknown column", "name,host\na,b\n", /`host` isn't one/],
    ["names a column twice", "name,name\na,b\n", /first row must name the columns/],
    ["has a row with more cells than columns", "name\na,b\n", /`row 2`: send at most 1 cells/],
    ["has a default that is neither yes nor no", "name,default\na,1\n", /`row 2`: set `default`/],
    ["has a quote that is never closed", 'name\n"a\n', /`row 2`: /],
    ["has too many rows", `name\n${"a\n".repeat(1001)}`, /more than 1000 sites/],
  ];
  test.each(rejected)("is rejected if it %s", async (_, text, reason) => {
    expect((await thrown(read(text)))?.message).toMatch(reason);
  });
});

describe.each(engines)("sites from a list on $name", (kind) => {
  let engine: Engine;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await engine?.close();
    engine = await openEngine(await kind.newDatabase(), allResources);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const add = async (text: string, withKeys = false) =>
    createSites(engine, await read(text), withKeys ? {} : undefined, 1);
  const names = async () => (await listSites(engine)).map(({ Name, Default }) => Name + Default);

  test("are created together, each with its own key, one of them as the default site", async () => {
    await createSite(engine, "first", { isDefault: true }, 1);
    await createSite(engine, "gone", {}, 1);
    await removeSite(engine, "gone", 1);
    const added = await add("name,hostnames,default\na,a.example,\nb,B.example,yes\n", true);
    expect(added.map(({ site }) => [site.ID, site.Name, site.Hostnames])).toEqual([
      [3, "a", "a.example"],
      [4, "b", "b.example"],
    ]);
    expect(await names()).toEqual(["first", "a", "byes"]);
    const keys = await listKeys(engine);
    expect(keys.map(({ Site, Prefix }) => [Site, Prefix])).toEqual(
      added.map(({ site, key }) => [`${site.ID}`, key?.slice(0, 12) as string]),
    );
  });
  if (kind.name === "PostgreSQL") return;

  test("are all rejected if some have errors, each reported with its row", async () => {
    await createSite(engine, "taken", { hostnames: ["taken.example"] }, 1);
    const text = "name,hostnames\na,a.example\nA B,\ntaken,\nb,taken.example\na,\nc,a.example\nd,http://x\n";
    const { code, fieldErrors } = await thrown(add(text, true));
    expect(code).toBe("invalid-record");
    expect(fieldErrors.map(({ field, detail }: { field: string; detail: string }) => `${field}: ${detail}`)).toEqual([
      expect.stringMatching(/^row 3: `Name`: use lower-case/),
      "row 4: the site `taken` already exists",
      "row 5: the hostname `taken.example` already belongs to the site `taken`",
      "row 6: the site `a` already exists",
      "row 7: the hostname `a.example` already belongs to the site `a`",
      expect.stringMatching(/^row 8: .*hostname/),
    ]);
    expect(await names()).toEqual(["taken"]);
    expect(await listKeys(engine)).toEqual([]);
    expect((await thrown(add("name,default\na,yes\nb,yes\n")))?.message).toMatch(
      /row 3`: another row is already the default/,
    );
  });

  test("are all created or none, even while others create sites", async () => {
    const lists = [1, 2, 3].map((n) => add(`name\n${[1, 2, 3].map((m) => `s${n}-${m}\n`).join("")}`, true));
    const same = [1, 2].map(() => thrown(add("name\nsame\nsame-2\n")));
    expect((await Promise.all(lists)).map((added) => added.length)).toEqual([3, 3, 3]);
    expect((await Promise.all(same)).filter((error) => error === undefined)).toHaveLength(1);
    expect((await listSites(engine)).length).toBe(11);
    const keys = await listKeys(engine);
    expect(keys.every(({ siteName }) => /^s[123]-[123]$/.test(siteName))).toBe(true);
    expect(new Set(keys.map(({ Site }) => Site)).size).toBe(9);
  });
});
