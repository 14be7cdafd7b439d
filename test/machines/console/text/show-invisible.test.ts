// The console shows invisible characters that change the direction of text.

import { expect, test } from "bun:test";
import { showInvisible } from "../../../../src/console/text/show-invisible.ts";

test.each([
  ["Acme", "Acme"],
  ["a\u202Eb\u2066c", "a[U+202E]b[U+2066]c"],
  ["a\u061Cb", "a[U+061C]b"],
])("the text %j is shown as %j", (text, shown) => {
  expect(showInvisible(text)).toBe(shown);
});
