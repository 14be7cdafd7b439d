// The search and the order of records in the page: the same results as those of the server.

import { afterAll, expect, test } from "bun:test";
import type { RecordResponse } from "../../../src/admin/api/record-types.ts";
import { startTestConsole } from "../../support/console/server.ts";

// Imported by its path, because the console is another project of TypeScript, with the types of browsers.
const path = new URL("../../../src/console/records/local-list.ts", import.meta.url).pathname;
const { searchRecords, sortRecords } = await import(path);

const names = [
  ..."acme|Acme|ACME Å|Ångström|Angstrom|Zebra|zebra|émile|e\u0301mile|Emile|Straße|STRASSE|ΣΊΣΥΦΟΣ|σίσυφος|İstanbul|istanbul".split(
    "|",
  ),
  ..."Œuvre|oeuvre|10 Downing|9 Downing|-dash|_under|#hash|…|日本|한국|مرحبا|שלום|a b  c|A\u202Eb|ñandú|Nandu|Łódź|Lodz|ẞ|ﬁsh|fish".split(
    "|",
  ),
];

const brands = "/sites/shop/records/brands";
const read = async (query: string): Promise<readonly RecordResponse[]> =>
  (await anna.call("GET", `${brands}?limit=1000&${query}`)).json.records;
const server = await startTestConsole();
const anna = await server.signIn("anna");
for (const [index, Name] of names.entries())
  await anna.call("POST", brands, { Name, AccountNumber: String(index % 5), Address: { Town: names.at(-index) } });
const all = await read("");
afterAll(() => server.stop());

const namesIn = (records: readonly RecordResponse[]) => records.map(({ record }) => record.ID);

test.each(["Name", "AccountNumber", "Address.Town", "Address.Postcode", "ID"])("the order by %s", async (by) => {
  for (const isDescending of [false, true]) {
    const order = isDescending ? "desc" : "asc";
    expect(namesIn(sortRecords(all, { by, isDescending }))).toEqual(namesIn(await read(`sort=${by}&order=${order}`)));
  }
});

const searches = [
  ...names,
  "acme 3",
  "  a   4 ",
  "1",
  "ss",
  "É",
  "\u0301",
  "nothing",
  "a e i o u a e i x",
  "σ",
  "[",
  "%",
];

test("each search finds the same records", async () => {
  const differing: string[] = [];
  for (const search of searches) {
    const theirs = namesIn(await read(`search=${encodeURIComponent(search)}`));
    if (!Bun.deepEquals(namesIn(searchRecords(all, search)), theirs)) differing.push(search);
  }
  expect(differing).toEqual([]);
});
