// Filters and searches ignore case in every script of Unicode.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { foldCase } from "../../src/lib/text.ts";
import { readRecordPage } from "../../src/operator/records/read-records.ts";
import { brand } from "../../src/resources/brand.ts";
import { startTestServer } from "../support/http/server.ts";
import { dataOf } from "../support/programs/command-data.ts";
import "../support/property-seed.ts";

/** Every character we store that has another case. */
const cased = Array.from({ length: 0x11_0000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((one) => casesOf(one).length > 1);
/** Those whose other case is longer than one character, or that have more than one other case. */
const special = cased.filter((one) =>
  casesOf(one).some((other) => [...other].length > 1 || casesOf(other).join() !== casesOf(one).join()),
);
const words = ["ΟΔΟΣ", "Οδός", "ΣΟΦΟΣ ΣΑΣ", "ΑΣ.ΑΣ", "Straße", "İstanbul", "ﬁne ŉ", "ᾼδης"];
const names = [...words, ...special.map((one) => `x${one}`), ...special.map((one) => `Ω${one}Ω`)];

function casesOf(text: string): string[] {
  return [...new Set([text, text.toLowerCase(), text.toUpperCase()])].sort();
}

const ids = new Map<string, number>();
const server = await startTestServer();
await dataOf(server.database).addBrands("shop", ...names);
for (const { ID, Name } of await dataOf(server.database).brands("shop")) ids.set(Name, ID);
afterAll(() => server.stop());

const idsOf = async (query: Record<string, string>): Promise<number[]> =>
  (await server.call("GET", `/restapi/brands.json?${new URLSearchParams(query)}`)).json.map(
    ({ ID }: { ID: number }) => ID,
  );

test.each(words)("contains finds %s by each of its prefixes, in any case", async (word) => {
  for (let end = 1; end <= word.length; end++)
    for (const part of casesOf(word.slice(0, end))) {
      const found = await idsOf({ "filter[Name][contains]": part });
      expect([part, found.includes(ids.get(word) as number)]).toEqual([part, true]);
    }
});

test("contains and the console's search find names with every special-casing character", async () => {
  expect(special.length).toBeGreaterThan(100);
  for (const name of names)
    for (const text of casesOf(name)) {
      const found = await idsOf({ "filter[Name][contains]": text, sort: "-Name" });
      expect([text, found.includes(ids.get(name) as number)]).toEqual([text, true]);
    }
  const query = { sort: { textField: undefined, descending: false }, limit: 1000, offset: 0 };
  for (const name of names.filter((name) => !name.includes(" ")))
    for (const search of casesOf(name)) {
      const { records } = await readRecordPage(
        server.siteViews,
        server.site.ID,
        brand,
        { ...query, search },
        () => true,
      );
      expect([search, records.some(({ record }) => record.ID === ids.get(name))]).toEqual([search, true]);
    }
});

test("sort: names with special casing come in Unicode collation order, with none missing", async () => {
  const { compare } = new Intl.Collator("und");
  const byName = [...ids].sort(([a, idA], [b, idB]) => compare(a, b) || idA - idB).map(([, id]) => id);
  expect(await idsOf({ sort: "Name" })).toEqual(byName);
});

test("case folding: texts that differ only in case fold alike, and a part folds as it does in the whole", () => {
  for (const one of cased) expect([one, ...new Set(casesOf(one).map(foldCase))]).toEqual([one, foldCase(one)]);
  const text = fc
    .array(fc.oneof(fc.constantFrom(...cased), fc.constantFrom(" ", ".", "'", "\u0301", "1")))
    .map((all) => all.join(""));
  fc.assert(
    fc.property(text, text, text, (before, inside, after) => {
      const whole = foldCase(before + inside + after);
      expect(whole).toBe(foldCase(before) + foldCase(inside) + foldCase(after));
      for (const other of casesOf(inside)) expect(whole).toContain(foldCase(other));
    }),
    { numRuns: 1000 },
  );
});
