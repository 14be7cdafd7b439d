// Comparison of a misspelt word with texts (src/lib/misspelt-words.ts).

import { describe, expect, test } from "bun:test";
import { EncodedTexts, MisspeltWord } from "../../../src/lib/misspelt-words.ts";

const errors = (word: string, text: string, most = 2) =>
  new MisspeltWord(word, most).errorsIn(new EncodedTexts(["another", text, "last"]), 1);

describe("a misspelt word", () => {
  const found: [string, string, number][] = [
    ["walmart", "Walmart", 0],
    ["walmrat", "Big Walmart Store", 1],
    ["walmat", "Walmart", 1],
    ["wallmart", "Walmart", 1],
    ["wolmart", "Walmart", 1],
    ["wolmrat", "Walmart", 2],
    ["PRESSBYRAN", "Pressbyrån", 0],
    ["pressbyrån", "PRESSBYRA\u030aN", 0],
    ["loreal", "L’Oréal", 0],
    ["mcdonnalds", "Mc Donald's", 1],
    ["strasse", "Straße", 1],
    ["фиксс", "Фикс прайс", 1],
    ["フジジ", "フジ", 1],
    ["sains", "Sainsbury's", 0],
    ["alderbeech", "Alder-Beech & Co", 0],
  ];
  test.each(found)("%s is in %s with %i errors", (word, text, count) => {
    expect(errors(word, text)).toBe(count);
  });

  const notFound: [string, string][] = [
    ["walmart", "Carrefour"],
    // The word must begin where a word of the text begins.
    ["mart", "Walmart"],
    // A short word must be exact, and so must a word of one letter.
    ["ab", "Axe"],
    ["aaaaaaa", "Baaaaaa"],
    ["", "Acme"],
  ];
  test.each(notFound)("%s is not in %s", (word, text) => {
    const one = new MisspeltWord(word, 2);
    expect(one.length === 0 || one.errorsIn(new EncodedTexts([text]), 0) > one.maxErrors).toBe(true);
  });

  test("has the errors that a table of all edits counts, for random words and texts", () => {
    let state = 7;
    const random = (below: number) => {
      state = (state * 48271) % 2147483647;
      return state % below;
    };
    const wordOf = (length: number) => Array.from({ length }, () => "abcde"[random(5)]).join("");
    for (let round = 0; round < 3000; round++) {
      const word = wordOf(3 + random(9));
      const text = Array.from({ length: 1 + random(3) }, () => wordOf(1 + random(12))).join(" ");
      const one = new MisspeltWord(word, 2);
      const expected = slowErrors(word, text);
      const actual = one.errorsIn(new EncodedTexts([text]), 0);
      expect([word, text, actual]).toEqual([
        word,
        text,
        expected > one.maxErrors ? Number.POSITIVE_INFINITY : expected,
      ]);
    }
  });
});

/** The fewest edits from `word` to a text that begins at any word of `text`, and ends anywhere. */
function slowErrors(word: string, text: string): number {
  const words = text.split(" ");
  return Math.min(...words.map((_, index) => fewestEdits(word, words.slice(index).join(""))));
}

function fewestEdits(word: string, text: string): number {
  const rows: number[][] = [Array.from({ length: text.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= word.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= text.length; j++) {
      const isSwap = i > 1 && j > 1 && word[i - 1] === text[j - 2] && word[i - 2] === text[j - 1];
      const replaced = at(i - 1, j - 1) + (word[i - 1] === text[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1, isSwap ? at(i - 2, j - 2) + 1 : replaced));
    }
  }
  return Math.min(...(rows.at(-1) as number[]));
}
