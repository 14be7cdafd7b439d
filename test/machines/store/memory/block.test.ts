// How a block of records counts the memory of what it caches: field texts, and compressed parts of lists.

import { expect, test } from "bun:test";
import { storedEncoding } from "../../../../src/model/encoding.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { Block, type TextSource } from "../../../../src/store/memory/block.ts";

const records = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, revision: 1, json: "{}" }));
const textSource = (name: string, text: string): TextSource => ({ name, of: () => text });

test("block memory: counts cached texts, not evicted ones", () => {
  const block = new Block(brand, records);
  const plain = block.estimateBytes();
  block.columns([textSource("short", "")]);
  const short = block.estimateBytes() - plain;
  expect(short).toBeGreaterThan(0);
  block.columns([textSource("long", "x".repeat(1000))]);
  expect(block.estimateBytes()).toBe(plain + 2 * short + 100 * 1000);
  // Cached texts are neither read nor counted again.
  block.columns([textSource("long", ""), textSource("short", "")]);
  expect(block.estimateBytes()).toBe(plain + 2 * short + 100 * 1000);
  for (const name of ["third", "fourth"]) block.columns([textSource(name, "")]);
  // The cache has space for four texts. A fifth replaces the text that was used least recently, which is the long one.
  block.columns([textSource("fifth", "")]);
  expect(block.estimateBytes()).toBe(plain + 4 * short);
});

test("block memory: counts its part of a list in compressed forms", () => {
  const block = new Block(brand, records);
  const items = block.encoded({ ...storedEncoding, name: "test" });
  const plain = block.estimateBytes();
  const compress = (bytes: Uint8Array) => bytes.subarray(0, 10);
  items.part(false).compressed("gzip", compress);
  const one = block.estimateBytes() - plain;
  expect(one).toBeGreaterThanOrEqual(10);
  items.part(true).compressed("gzip", compress);
  expect(block.estimateBytes()).toBe(plain + 2 * one);
});
