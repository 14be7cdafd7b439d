// Searching a block's joined texts finds the same as searching each text.

import { expect, test } from "bun:test";
import { JoinedTexts } from "../../../../src/store/memory/joined-texts.ts";

const texts = ["", "acme", "acme ltd", "", "ab", "b", "フジ", "a\nb", "bab", "", "aa", ""];
const parts = ["a", "b", "ab", "aa", "acme", "フ", "\n", "", "x", "b\0", "\0", "ltd", "ltd\0", "ba"];

test("joined texts: found within a text, never across two", () => {
  for (const list of [texts, texts.slice(1, -1), [""], ["acme"], ["", ""]]) {
    const joined = new JoinedTexts(list);
    expect(list.map((_, index) => joined.at(index))).toEqual(list);
    expect(joined.at(list.length - 1)).toBe(list.at(-1) as string);
    for (const one of parts)
      for (const other of [undefined, ...parts]) {
        const wanted = other === undefined ? [one] : [one, other];
        const expected = list.flatMap((text, index) => (wanted.some((part) => text.includes(part)) ? [index] : []));
        expect([wanted, joined.indexesWith(wanted)]).toEqual([wanted, expected]);
      }
  }
});
