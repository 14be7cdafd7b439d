// Lists and selections that are kept are what they would be if they were made anew, after any changes.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { json } from "../src/formats/json.ts";
import { xml } from "../src/formats/xml.ts";
import { chooseCoding, compressed } from "../src/http/compression.ts";
import { readListQuery } from "../src/http/query.ts";
import type { Roomy } from "../src/model/roomy.ts";
import { orderStatus } from "../src/resources/order-status.ts";
import { Collection } from "../src/store/collection.ts";
import type { List } from "../src/store/list.ts";
import { Tally } from "../src/store/tally.ts";

/** Close together, or far apart. */
const id = fc.oneof(
  fc.integer({ min: 1, max: 1100 }),
  fc.integer({ min: 1, max: 300 }).map((i) => i * 1_000_003),
);
const name = fc.constantFrom("a", "B", "ä", "b", "", "Ab", "zz", "a long name, so that the bytes are many".repeat(3));

/** Puts records in from `id` on, or takes them out. */
const change = fc.record({ id, count: fc.constantFrom(1, 1, 1, 5, 400), name: fc.option(name) });
const queries = ["", "sort=Name", "sort=-Name,ID", "sort=-ID", "filter[Name][contains]=B", "filter[Name]=a&sort=-Name"];
/** What is asked for between changes; what nobody asks for is not made. */
const asked = fc.subarray(["json", "xml", "gzip", "zstd", ...queries]);
const rounds = fc.array(fc.record({ changes: fc.array(change, { maxLength: 20 }), asked }), {
  minLength: 1,
  maxLength: 8,
});

const bytesOf = (list: List) => Buffer.concat(list.parts.map(({ bytes }) => bytes));
const textOf = (list: List) => bytesOf(list).toString();
const toJson = (id: number, name: string) => JSON.stringify({ ID: id, Name: name });
const idsOf = (collection: Collection, query: string) => {
  const { filters, sort } = readListQuery(orderStatus, query) ?? { filters: [], sort: [] };
  return collection.selections.select(filters, sort);
};

function filled(count: number, step = 1, tally = new Tally()): Collection {
  const collection = new Collection(orderStatus, tally);
  for (let i = 1; i <= count; i++) collection.set(i * step, i, toJson(i * step, `status ${i}`));
  return collection;
}

test("whatever changes in between, in whichever order, and whatever is asked for", () => {
  fc.assert(
    fc.property(rounds, (all) => {
      const kept = new Collection(orderStatus);
      const present = new Map<number, string>();
      let revision = 0;
      for (const { changes, asked } of all) {
        for (const { id, count, name } of changes) {
          for (let i = id; i < id + count; i++) {
            kept.set(i, ++revision, name === null ? null : toJson(i, name));
            if (name === null) present.delete(i);
            else present.set(i, name);
          }
        }
        const anew = new Collection(orderStatus);
        for (const [id, name] of present) anew.set(id, 1, toJson(id, name));
        for (const what of asked) expectSame(what, kept, anew);
        expect(kept.size).toBe(present.size);
      }
      for (const id of [1, 2, 300, 1_000_003]) expect(kept.get(id)?.json).toBe(jsonOf(present, id));
    }),
    { numRuns: 100 },
  );
});

function jsonOf(present: ReadonlyMap<number, string>, id: number): string | undefined {
  const name = present.get(id);
  return name === undefined ? undefined : toJson(id, name);
}

function expectSame(what: string, kept: Collection, anew: Collection): void {
  if (what === "json" || what === "xml") {
    const format = what === "json" ? json : xml;
    expect(textOf(kept.list(format))).toBe(textOf(anew.list(format)));
    expect(kept.list(format).length).toBe(bytesOf(anew.list(format)).length);
  } else if (what === "gzip" || what === "zstd") {
    const bytes = Buffer.from(compressed(kept.list(json), what));
    const text = what === "gzip" ? Bun.gunzipSync(bytes) : Bun.zstdDecompressSync(bytes);
    expect(Buffer.from(text).toString()).toBe(textOf(anew.list(json)));
  } else {
    const ids = idsOf(anew, what);
    expect([what, idsOf(kept, what)]).toEqual([what, ids]);
    for (const format of [json, xml]) {
      const page = Buffer.from(kept.page(ids.slice(0, 20), format)).toString();
      expect(page).toBe(Buffer.from(anew.page(ids.slice(0, 20), format)).toString());
    }
  }
}

test("one write among 100,000 records encodes one record again", () => {
  const collection = filled(100_000);
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
  ["an update", 5000, "changed"],
  ["an update of the first", 1, "changed"],
  ["a new record", 10_001, "new"],
  ["a delete", 5000, null],
])("after %s, a list shares all parts but one with the list before, which stays as it was", (_, id, name) => {
  const collection = filled(10_000);
  const before = collection.list(json);
  const text = textOf(before);
  collection.set(id, 10_001, name === null ? null : toJson(id, name));
  const after = collection.list(json);
  const shared = new Set(before.parts);
  expect(after.parts.filter((part) => !shared.has(part))).toHaveLength(1);
  expect(textOf(before)).toBe(text);
  expect(textOf(after)).not.toBe(text);
});

test("a list that is asked for again is in one piece, which the list after a write goes on using", () => {
  const collection = filled(1000);
  const list = collection.list(json);
  const [first, text] = [list.body as Buffer[], textOf(list)];
  expect(first.length).toBeGreaterThan(1);
  const { memory, start } = list.body as Roomy;
  expect(memory.toString("utf8", start)).toBe(text);
  expect(textOf(list)).toBe(text);
  expect(Buffer.concat(first).toString()).toBe(text);
  collection.set(500, 1001, toJson(500, "changed"));
  const after = collection.list(json);
  const memories = new Set(after.parts.map(({ bytes }) => bytes.buffer));
  expect(memories.has(memory.buffer)).toBe(true);
  expect(memories.size).toBeLessThanOrEqual(3);
  expect(textOf(after)).toBe(text.replace(/(?<={"ID":500,"Name":")[^"]*/, "changed"));
  expect([...collection].map(({ json: one }) => one).join()).toBe(textOf(after).slice(1, -1));
});

test.each([
  ["all records", 0],
  ["all records but those of one block", 100],
  ["most records", 400],
])("when %s of a list in one piece are deleted, its memory is freed", (_, left) => {
  const tally = new Tally();
  const collection = filled(2000, 1, tally);
  const whole = collection.list(json);
  for (let time = 0; time < 2; time++) void whole.body;
  for (let id = left + 1; id <= 2000; id++) collection.set(id, 2000 + id, null);
  const { parts, length } = collection.list(json);
  const memories = new Set(parts.map(({ bytes }) => bytes.buffer));
  const kept = [...memories].reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(kept).toBeLessThan(3 * length + 1000);
  expect(tally.bytes).toBeGreaterThan(kept);
});

test("memory of a list in one piece is counted as long as a part of it is used", () => {
  const tally = new Tally();
  const collection = filled(2000, 1, tally);
  const ask = () => collection.list(json).body as Roomy;
  ask();
  const { memory } = ask();
  for (let id = 1; id <= 800; id++) collection.set(id, 2000 + id, null);
  const after = collection.list(json);
  expect(after.parts.some(({ bytes }) => bytes.buffer === memory.buffer)).toBe(true);
  expect(tally.bytes).toBeGreaterThan(memory.length);
  ask();
  const { bytes } = tally;
  expect(ask().memory.length).toBe(after.length + 4096);
  expect(after.parts.some((part) => part.bytes.buffer === memory.buffer)).toBe(false);
  expect(tally.bytes).toBeLessThanOrEqual(bytes);
});

test("changes that nobody asks for are settled block by block, and none is lost", () => {
  const collection = filled(20_000);
  collection.settle();
  const expected = new Map(Array.from({ length: 20_000 }, (_, i) => [i + 1, toJson(i + 1, `name ${i + 1}`)]));
  for (let i = 0; i < 30_000; i++) {
    const id = 1 + ((i * 7919) % 26_000);
    const body = i % 11 === 0 ? null : toJson(id, `changed ${i}`);
    collection.set(id, 20_001 + i, body);
    if (body === null) expected.delete(id);
    else expected.set(id, body);
  }
  for (const id of [1, 7920, 15_000, 25_999]) expect(collection.get(id)?.json).toBe(expected.get(id) as string);
  const all = [...expected].sort(([a], [b]) => a - b).map(([, body]) => body);
  expect(textOf(collection.list(json))).toBe(`[${all.join()}]`);
  expect(collection.size).toBe(all.length);
});

test("records with IDs far apart, and what many deletes leave, lie in few chunks", () => {
  expect(filled(10_000, 1_000_003).list(json).parts.length).toBeLessThan(100);
  const collection = filled(10_000);
  for (let id = 1; id <= 10_000; id++) if (id % 100 !== 0) collection.set(id, 10_000 + id, null);
  expect(collection.list(json).parts.length).toBeLessThan(6);
  for (let id = 100; id <= 10_000; id += 100) collection.set(id, 20_000 + id, null);
  expect(textOf(collection.list(json))).toBe("[]");
  expect(textOf(collection.list(xml))).toEndWith("<Results></Results>");
});

test("what is kept is counted: more when it is asked for, and no longer when it is let go", () => {
  const tally = new Tally();
  const collection = filled(1000, 1, tally);
  collection.settle();
  const steps = [
    () => void collection.list(xml),
    () => void compressed(collection.list(xml), "gzip"),
    () => void compressed(collection.list(json), "zstd"),
    () => void idsOf(collection, "filter[Name][contains]=9"),
    () => void idsOf(collection, "sort=Name"),
  ];
  for (const step of steps) {
    const { bytes } = tally;
    step();
    expect(tally.bytes).toBeGreaterThan(bytes);
    const most = tally.bytes;
    step();
    expect(tally.bytes).toBe(most);
  }
  for (let id = 1; id <= 1000; id++) collection.set(id, 1000 + id, null);
  idsOf(collection, "filter[Name][contains]=9");
  idsOf(collection, "sort=Name");
  expect(tally.bytes).toBeLessThan(5000);
});

test("a record that is written again and again is counted once", () => {
  const tally = new Tally();
  const collection = filled(100, 1, tally);
  collection.list(json);
  const { bytes } = tally;
  for (let i = 0; i < 5000; i++) collection.set(7, 100 + i, toJson(7, "status 7"));
  collection.list(json);
  expect(tally.bytes).toBe(bytes);
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
