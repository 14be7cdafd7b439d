// How a block of records counts the memory of the field texts that it caches.

import { expect, test } from "bun:test";
import { brand } from "../../../src/resources/brand.ts";
import { Block, type TextSource } from "../../../src/store/memory/block.ts";

const records = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, revision: 1, json: "{}" }));
const textSource = (name: string, text: string): TextSource => ({ name, of: () => text });

test("a block weighs as much as the texts that it keeps, and no text that it has dropped", () => {
  const block = new Block(brand, records);
  const plain = block.memoryUse();
  block.columns([textSource("short", "")]);
  const short = block.memoryUse() - plain;
  expect(short).toBeGreaterThan(0);
  block.columns([textSource("long", "x".repeat(1000))]);
  expect(block.memoryUse()).toBe(plain + 2 * short + 100 * 1000);
  // Cached texts are neither read nor counted again.
  block.columns([textSource("long", ""), textSource("short", "")]);
  expect(block.memoryUse()).toBe(plain + 2 * short + 100 * 1000);
  for (const name of ["third", "fourth"]) block.columns([textSource(name, "")]);
  // The cache has space for four texts. A fifth replaces the text that was used least recently, which is the long one.
  block.columns([textSource("fifth", "")]);
  expect(block.memoryUse()).toBe(plain + 4 * short);
});
