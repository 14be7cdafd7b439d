// The letters that open a list of records after `g`.

import { expect, test } from "bun:test";
import { shortcutKeys } from "../../../../src/console/frame/shortcut-keys.ts";

test.each([
  ["is the first of its path", ["brands", "locations"], ["b", "l"]],
  ["is a later one if a page has the first", ["order-statuses"], ["r"]],
  ["is a later one if another list has the first", ["brands", "banners", "bar"], ["b", "a", "r"]],
  ["is missing if all are used", ["oo", "brands"], [undefined, "b"]],
])("the letter of a list %s", (_, paths, keys) => {
  expect(shortcutKeys(paths, ["o"])).toEqual(keys);
});
