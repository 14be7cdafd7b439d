// A cache of strings from clients doesn't keep the header sections they came from in memory.

import { describe, expect, test } from "bun:test";
import { BoundedCache } from "../../../src/lib/bounded-cache.ts";
import { HeaderReader } from "../../../src/wire/header-reader.ts";
import type { RequestHeader } from "../../../src/wire/request-header.ts";
import { retainedBytesOutsideCells } from "../../support/memory.ts";

const filler = `X-Filler: ${"x".repeat(15_000)}`;

function readHeader(number: number): RequestHeader {
  const lines = [`GET /restapi/brands/${number}.json HTTP/1.1`, `Host: host-${number}.example`, filler, "", ""];
  return new HeaderReader().parse(Buffer.from(lines.join("\r\n"))) as RequestHeader;
}

describe("remembering part of a header section keeps nothing else of it:", () => {
  test.each<[string, (header: RequestHeader) => string]>([
    ["a target", ({ target }) => target],
    ["the value of a field", ({ section }) => section.headers.get("host") as string],
  ])("%s", async (_, partOf) => {
    const cache = new BoundedCache(1000, 100, (key) => ({ start: key.slice(0, 10) }));
    const before = await retainedBytesOutsideCells();
    for (let number = 0; number < 500; number++) cache.get(partOf(readHeader(number)));
    expect((await retainedBytesOutsideCells()) - before).toBeLessThan(2_000_000);
    expect(cache.get(partOf(readHeader(1)))).toBe(cache.get(partOf(readHeader(1))));
  });
});

test("bounded cache: makes a value once, even null or an empty string, and forgets errors", () => {
  for (const value of [null, "", { a: 1 }]) {
    const made: string[] = [];
    const cache = new BoundedCache(2, 10, (key) => {
      made.push(key);
      return value;
    });
    expect([cache.get("x"), cache.get("x"), made]).toEqual([value, value, ["x"]]);
  }
  let calls = 0;
  const failing = new BoundedCache(2, 10, () => {
    throw new Error(`call ${++calls}`);
  });
  expect(() => failing.get("x")).toThrow("call 1");
  expect(() => failing.get("x")).toThrow("call 2");
});

test("bounded cache: forgets everything when full, and never keeps long keys", () => {
  const made: string[] = [];
  const cache = new BoundedCache(2, 3, (key) => made.push(key));
  for (const key of ["a", "b", "a", "c", "a", "long", "long", ""]) cache.get(key);
  expect(made).toEqual(["a", "b", "c", "a", "long", "long", ""]);
});
