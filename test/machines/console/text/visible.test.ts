// The console shows invisible characters that change the direction of text.

import { expect, test } from "bun:test";
import { visible } from "../../../../src/console/text/visible.ts";

test.each([
  ["Acme", "Acme"],
  ["a\u202Eb\u2066c", "a[U+202E]b[U+2066]c"],
  ["a\u061Cb", "a[U+061C]b"],
])("the text %j is shown as %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});
