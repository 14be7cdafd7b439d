// After any changes, cached lists and selections equal new ones.

import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { json } from "../../../../../src/formats/json.ts";
import { xml } from "../../../../../src/formats/xml.ts";
import { compressList } from "../../../../../src/http/compression.ts";
import { parseListParameters } from "../../../../../src/http/records/list-parameters.ts";
import type { BufferWithHeadroom } from "../../../../../src/lib/bytes.ts";
import { slices } from "../../../../../src/lib/slices.ts";
import { tickBudgetMs } from "../../../../../src/lib/tick-budgets.ts";
import { nextImmediate } from "../../../../../src/lib/yielding.ts";
import type { Encoding } from "../../../../../src/model/encoding.ts";
import { orderStatus } from "../../../../../src/resources/order-status.ts";
import { Collection } from "../../../../../src/store/memory/collection.ts";
import { TextInParts, TextPart } from "../../../../../src/store/memory/text-in-parts.ts";
import { ticks } from "../../../../support/time.ts";

/** IDs close together, or far apart. */
const id = fc.oneof(
  fc.integer({ min: 1, max: 1100 }),
  fc.integer({ min: 1, max: 300 }).map((i) => i * 1_000_003),
);
const name = fc.constantFrom("a", "B", "ä", "b", "", "Ab", "zz", "a long name, so that the bytes are many".repeat(3));

/** Creates or deletes records from `id` on. */
const change = fc.record({ id, count: fc.constantFrom(1, 1, 1, 5, 400), name: fc.option(name) });
const queries = ["", "sort=Name", "sort=-Name,ID", "sort=-ID", "filter[Name][contains]=B", "filter[Name]=a&sort=-Name"];
/** The requests between changes. Only requested results are made. */
const asked = fc.subarray(["json", "xml", "gzip", "zstd", ...queries]);
const rounds = fc.array(fc.record({ changes: fc.array(change, { maxLength: 20 }), asked }), {
  minLength: 1,
  maxLength: 8,
});

const bytesOf = (list: TextInParts) => Buffer.concat(list.parts.map(({ bytes }) => bytes));
const textOf = (list: TextInParts) => bytesOf(list).toString();
const toJson = (id: number, name: string) => JSON.stringify({ ID: id, Name: name });
const listOf = async (collection: Collection, format: Encoding) => (await collection.version()).encodeList(format);
const idsOf = async (collection: Collection, query: string) => {
  const { filters, sort } = parseListParameters(orderStatus, new URLSearchParams(query)) ?? { filters: [], sort: [] };
  return collection.selections.select(await collection.version(), filters, sort, () => true);
};
const set = (collection: Collection, id: number, revision: number, body: string | null) =>
  collection.set({ id, revision, body });

function filled(count: number, step = 1): Collection {
  const collection = new Collection(orderStatus);
  for (let i = 1; i <= count; i++) set(collection, i * step, i, toJson(i * step, `status ${i}`));
  return collection;
}

test("kept lists, pages and selections equal new ones after any changes in any order", async () => {
  await fc.assert(
    fc.asyncProperty(rounds, async (all) => {
      const kept = new Collection(orderStatus);
      const present = new Map<number, string>();
      let revision = 0;
      for (const { changes, asked } of all) {
        for (const { id, count, name } of changes) {
          for (let i = id; i < id + count; i++) {
            set(kept, i, ++revision, name === null ? null : toJson(i, name));
            if (name === null) present.delete(i);
            else present.set(i, name);
          }
        }
        const rebuilt = new Collection(orderStatus);
        for (const [id, name] of present) set(rebuilt, id, 1, toJson(id, name));
        for (const what of asked) await expectSame(what, kept, rebuilt);
        expect((await kept.version()).size).toBe(present.size);
      }
      expect(new Map([...kept].map(({ id, json }) => [id, json]))).toEqual(
        new Map([...present].map(([id, name]) => [id, toJson(id, name)])),
      );
      for (const id of [1, 2, 300, 1_000_003]) expect(kept.find(id)?.json).toBe(jsonOf(present, id));
    }),
    { numRuns: 100 },
  );
});

function jsonOf(present: ReadonlyMap<number, string>, id: number): string | undefined {
  const name = present.get(id);
  return name === undefined ? undefined : toJson(id, name);
}

async function expectSame(what: string, kept: Collection, rebuilt: Collection): Promise<void> {
  if (what === "json" || what === "xml") {
    const format = what === "json" ? json : xml;
    const list = await listOf(kept, format);
    expect(textOf(list)).toBe(textOf(await listOf(rebuilt, format)));
    expect(list.length).toBe(bytesOf(list).length);
  } else if (what === "gzip" || what === "zstd") {
    const { memory, start } = await compressList(await listOf(kept, json), what);
    const bytes = Buffer.from(memory.subarray(start));
    const text = what === "gzip" ? Bun.gunzipSync(bytes) : Bun.zstdDecompressSync(bytes);
    expect(Buffer.from(text).toString()).toBe(textOf(await listOf(rebuilt, json)));
  } else {
    const ids = await idsOf(rebuilt, what);
    expect([what, await idsOf(kept, what)]).toEqual([what, ids]);
    for (const format of [json, xml]) expect(await pageOf(kept, ids, format)).toBe(await pageOf(rebuilt, ids, format));
  }
}

async function pageOf(collection: Collection, ids: readonly number[], format: Encoding): Promise<string> {
  return Buffer.from(await slices.run((await collection.version()).encodePage(ids.slice(0, 20), format))).toString();
}

test("one write among 100,000 records encodes the records of one block again", async () => {
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
  await listOf(collection, counting);
  expect(encoded).toBe(100_000);
  set(collection, 50_000, 100_001, toJson(50_000, "changed"));
  expect(textOf(await listOf(collection, counting))).toContain("changed");
  expect(encoded).toBeLessThanOrEqual(100_000 + 128);
});

test.each([
  ["an update", 5000, "changed"],
  ["an update of the first", 1, "changed"],
  ["a new record", 10_001, "new"],
  ["a delete", 5000, null],
])("after %s, a list shares all parts but one with the previous list, which does not change", async (_, id, name) => {
  const collection = filled(10_000);
  const before = await listOf(collection, json);
  const text = textOf(before);
  set(collection, id, 10_001, name === null ? null : toJson(id, name));
  const after = await listOf(collection, json);
  const shared = new Set(before.parts.slice(1, -1));
  expect(after.parts.slice(1, -1).filter((part) => !shared.has(part))).toHaveLength(1);
  expect(textOf(before)).toBe(text);
  expect(textOf(after)).not.toBe(text);
});

test("a list is joined when it is requested again, unless it is too long", async () => {
  const list = await listOf(filled(1000), json);
  const first = list.bytesForNextRequest() as Uint8Array[];
  expect(first.length).toBeGreaterThan(1);
  expect(Buffer.concat(first).toString()).toBe(textOf(list));
  const whole = list.bytesForNextRequest() as BufferWithHeadroom;
  expect(whole.memory.toString("utf8", whole.start)).toBe(textOf(list));
  expect(list.bytesForNextRequest()).toBe(whole);
  const long = new TextInParts(Array.from({ length: 17 }, () => new TextPart(Buffer.alloc(2 ** 20))));
  long.bytesForNextRequest();
  expect(long.bytesForNextRequest()).toBeArrayOfSize(17);
});

test("the memory of a list is freed when its records change", async () => {
  const collection = filled(2000);
  const list = await listOf(collection, json);
  list.bytesForNextRequest();
  list.bytesForNextRequest();
  const most = collection.estimateBytes();
  expect(most).toBeGreaterThan(2 * list.length);
  for (let id = 1; id <= 2000; id++) set(collection, id, 2000 + id, null);
  const { parts } = await listOf(collection, json);
  expect(parts).toHaveLength(2);
  expect(collection.estimateBytes()).toBeLessThan(5000);
});

test("changes are applied without a request for a list, and none is lost", async () => {
  const collection = filled(20_000);
  const expected = new Map(Array.from({ length: 20_000 }, (_, i) => [i + 1, toJson(i + 1, `status ${i + 1}`)]));
  for (let i = 0; i < 30_000; i++) {
    const id = 1 + ((i * 7919) % 26_000);
    const body = i % 11 === 0 ? null : toJson(id, `changed ${i}`);
    set(collection, id, 20_001 + i, body);
    if (body === null) expected.delete(id);
    else expected.set(id, body);
    if (i % 1000 === 0) await ticks();
  }
  for (const id of [1, 7920, 15_000, 25_999]) expect(collection.find(id)?.json).toBe(expected.get(id) as string);
  const all = [...expected].sort(([a], [b]) => a - b).map(([, body]) => body);
  expect(textOf(await listOf(collection, json))).toBe(`[${all.join()}]`);
  expect((await collection.version()).size).toBe(all.length);
});

test("a version does not change while a list is made from it in slices and records change", async () => {
  const collection = filled(100_000);
  const version = await collection.version();
  const list = version.encodeList(xml);
  expect(list).toBeInstanceOf(Promise);
  set(collection, 99_999, 100_001, toJson(99_999, "changed"));
  expect(collection.find(99_999)?.json).toContain("changed");
  const next = await listOf(collection, xml);
  expect(textOf(await list)).not.toContain("changed");
  expect(textOf(next)).toContain("changed");
  expect(version.revision).toBe(100_000);
  expect((await collection.version()).revision).toBe(100_001);
});

test("concurrent requests for the same list share the work", async () => {
  const version = await filled(100_000).version();
  const collection = filled(100_000);
  const [one, other] = await Promise.all([version.encodeList(xml), version.encodeList(xml)]);
  expect(one).toBe(other);
  const [ids, same] = await Promise.all([idsOf(collection, "sort=-Name"), idsOf(collection, "sort=-Name")]);
  expect(ids).toBe(same);
});

test("records with IDs far apart, and the rest after many deletes, are in few parts", async () => {
  expect((await listOf(filled(10_000, 1_000_003), json)).parts.length).toBeLessThan(100);
  const collection = filled(10_000);
  for (let id = 1; id <= 10_000; id++) if (id % 100 !== 0) set(collection, id, 10_000 + id, null);
  expect((await listOf(collection, json)).parts.length).toBeLessThan(6);
  for (let id = 100; id <= 10_000; id += 100) set(collection, id, 20_000 + id, null);
  expect(textOf(await listOf(collection, json))).toBe("[]");
  expect(textOf(await listOf(collection, xml))).toEndWith("<Results></Results>");
});

test("the memory of cached lists is counted until they are evicted", async () => {
  const collection = filled(1000);
  await collection.version();
  const steps = [
    async () => void (await listOf(collection, xml)),
    async () => void (await compressList(await listOf(collection, xml), "gzip")),
    async () => void (await compressList(await listOf(collection, json), "zstd")),
    async () => void (await idsOf(collection, "filter[Name][contains]=9")),
    async () => void (await idsOf(collection, "sort=Name")),
  ];
  for (const step of steps) {
    const before = collection.estimateBytes();
    await step();
    const most = collection.estimateBytes();
    expect(most).toBeGreaterThan(before);
    await step();
    expect(collection.estimateBytes()).toBe(most);
  }
  for (let id = 1; id <= 1000; id++) set(collection, id, 1000 + id, null);
  await idsOf(collection, "filter[Name][contains]=9");
  await idsOf(collection, "sort=Name");
  expect(collection.estimateBytes()).toBeLessThan(5000);
});

test("a page that is kept is counted once, with all its bytes", async () => {
  const version = await filled(10).version();
  const page = { body: new Uint8Array(100_000), total: 10 };
  const before = version.estimateBytes();
  for (let round = 0; round < 2; round++) {
    await version.cachedPage("the first", () => page);
    expect(version.estimateBytes() - before).toBeWithin(100_000, 102_000);
  }
});

test("a record that is written repeatedly is counted once", async () => {
  const collection = filled(100);
  await listOf(collection, json);
  const before = collection.estimateBytes();
  for (let i = 0; i < 5000; i++) set(collection, 7, 100 + i, toJson(7, "status 7"));
  await listOf(collection, json);
  expect(collection.estimateBytes()).toBe(before);
});

test("changes that could not be applied for lack of memory are in the next list", async () => {
  const collection = filled(300);
  await listOf(collection, json);
  set(collection, 7, 1001, toJson(7, "changed"));
  set(collection, 8, 1002, null);
  const memory = spyOn(Buffer, "allocUnsafeSlow").mockImplementation(() => {
    throw new RangeError("Out of memory");
  });
  try {
    expect(async () => collection.version()).toThrow("Out of memory");
    // Enough changes to replace blocks without a request.
    for (let id = 1001; id <= 2100; id++) set(collection, id, id, toJson(id, "new"));
  } finally {
    memory.mockRestore();
  }
  expect(collection.find(7)?.json).toBe(toJson(7, "changed"));
  const listed = JSON.parse(textOf(await listOf(collection, json)));
  expect(listed.length).toBe(299 + 1100);
  expect(listed[6]).toEqual({ ID: 7, Name: "changed" });
  expect(listed[7].ID).toBe(9);
});

test("a failure in a later tick rejects the call, and ends no process", async () => {
  const collection = filled(300);
  await listOf(collection, json);
  for (const id of [7, 207]) set(collection, id, 1000 + id, toJson(id, "changed"));
  const memory = spyOn(Buffer, "allocUnsafeSlow")
    .mockImplementationOnce((size) => {
      const begun = performance.now();
      while (performance.now() - begun <= tickBudgetMs.firstSlices);
      return Buffer.from(new ArrayBuffer(size));
    })
    .mockImplementation(() => {
      throw new RangeError("Out of memory");
    });
  try {
    const version = collection.version();
    expect(version).toBeInstanceOf(Promise);
    expect(await Promise.resolve(version).catch(String)).toBe("RangeError: Out of memory");
    // A rejection that nobody handles fails the test here.
    await nextImmediate();
  } finally {
    memory.mockRestore();
  }
  expect(JSON.parse(textOf(await listOf(collection, json)))[206]).toEqual({ ID: 207, Name: "changed" });
});
