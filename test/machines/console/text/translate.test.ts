// The console's texts, the server's messages as sentences, and other people's texts.

import { expect, test } from "bun:test";
import { showInvisible, toSentence, translate } from "../../../../src/console/text/translate.ts";

const messages: [message: string, sentence: string][] = [
  ["the site `garden` exists already", "The site “garden” exists already."],
  ["`Name`: a value is required", "Name: a value is required."],
  ["it is a sentence already.", "It is a sentence already."],
  ["", "."],
];
test.each(messages)("the message %p is shown as a sentence", (message, sentence) => {
  expect(toSentence(message)).toBe(sentence);
});

test("text: right form for its number, with its values", () => {
  const form = (count: number) => translate("keys.hours", { smart_count: count });
  expect([form(1), form(0), form(24)]).toEqual(["After 1 hour", "After 0 hours", "After 24 hours"]);
  expect(translate("keys.named", { label: "$&", prefix: "sfk" })).toBe("“$&” (sfk…)");
});

test.each([
  ["Acme", "Acme"],
  ["a\u202Eb\u2066c", "a[U+202E]b[U+2066]c"],
  ["a\u061Cb", "a[U+061C]b"],
  ["a \u200Bb", "a \u200Bb"],
  ["\u200B \u00AD", "[U+200B][U+0020][U+00AD]"],
])("the text %j is shown as %j", (text, shown) => {
  expect(showInvisible(text)).toBe(shown);
});
