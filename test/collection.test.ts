// Lists and selections that are kept are what they would be if they were made anew, after any changes.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { json } from "../src/formats/json.ts";
import { xml } from "../src/formats/xml.ts";
import { chooseCoding, compressed } from "../src/http/compression.ts";
import { readListQuery } from "../src/http/query.ts";
import { orderStatus } from "../src/resources/order-status.ts";
import { Collection } from "../src/store/collection.ts";
import type { List } from "../src/store/list.ts";

/** Puts a record in, or takes it out. */
const change = fc.record({
  id: fc.integer({ min: 1, max: 1100 }),
  name: fc.option(fc.constantFrom("a", "B", "ä", "b", "", "Ab", "zz")),
});
const rounds = fc.array(fc.array(change, { maxLength: 40 }), { minLength: 1, maxLength: 8 });
const queries = ["", "sort=Name", "sort=-Name,ID", "sort=-ID", "filter[Name][contains]=B", "filter[Name]=a&sort=-Name"];

const textOf = (list: List) => Buffer.concat(list.chunks).toString();
const toJson = (id: number, name: string) => JSON.stringify({ ID: id, Name: name });

test("whatever changes in between, and in whichever order", () => {
  fc.assert(
    fc.property(rounds, (all) => {
      const kept = new Collection(orderStatus);
      const present = new Map<number, string>();
      let revision = 0;
      for (const changes of all) {
        for (const { id, name } of changes) {
          kept.set(id, ++revision, name === null ? null : toJson(id, name));
          if (name === null) present.delete(id);
          else present.set(id, name);
        }
        const anew = new Collection(orderStatus);
        for (const [id, name] of present) anew.set(id, 1, toJson(id, name));
        expectSame(kept, anew);
        expect(kept.size).toBe(present.size);
      }
    }),
    { numRuns: 60 },
  );
});

function expectSame(kept: Collection, anew: Collection): void {
  for (const format of [json, xml]) {
    const list = kept.list(format);
    const text = textOf(list);
    expect(text).toBe(textOf(anew.list(format)));
    expect(Buffer.from(Bun.gunzipSync(Buffer.from(compressed(list, "gzip")))).toString()).toBe(text);
    expect(Buffer.from(Bun.zstdDecompressSync(Buffer.from(compressed(list, "zstd")))).toString()).toBe(text);
  }
  for (const query of queries) {
    const { filters, sort } = readListQuery(orderStatus, query) ?? { filters: [], sort: [] };
    const idsOf = (collection: Collection) => collection.selections.select(filters, sort);
    expect([query, idsOf(kept)]).toEqual([query, idsOf(anew)]);
  }
}

test("one write among 100,000 records encodes one block again", () => {
  const collection = new Collection(orderStatus);
  for (let id = 1; id <= 100_000; id++) collection.set(id, id, toJson(id, `status ${id}`));
  let encoded = 0;
  const counting = {
    ...json,
    name: "counting",
    item(resource: typeof orderStatus, text: string) {
      encoded++;
      return json.item(resource, text);
    },
  };
  collection.list(counting);
  expect(encoded).toBe(100_000);
  collection.set(50_000, 100_001, toJson(50_000, "changed"));
  expect(textOf(collection.list(counting))).toContain("changed");
  expect(encoded).toBe(100_000 + 1);
});

test.each([
  ["gzip", "gzip"],
  ["GZIP;Q=1.0", "gzip"],
  ["gzip, deflate, br, zstd", "zstd"],
  ["gzip;q=1, zstd;q=0.9", "gzip"],
  ["*;q=0.1", "zstd"],
  ["zstd;q=0, *", "gzip"],
  ["identity", undefined],
  ["gzip;q=0, zstd;q=0", undefined],
  ["", undefined],
])("Accept-Encoding: %s gets %s", (header, coding) => {
  expect(chooseCoding(header, 5000)).toBe(coding);
});
