// The form of API keys, and how much of them logs may show.

import { describe, expect, test } from "bun:test";
import {
  createApiKey,
  isKey,
  isPartialKey,
  isSandboxKey,
  minPrefixLength,
  redactKeys,
  visiblePrefix,
} from "../../../src/model/api-key.ts";

describe.each([
  ["a live site", false, "sfk_", 12, 8],
  ["a sandbox", true, "sfk_test_", 17, 13],
] as const)("a key of %s", (_, isForSandbox, mark, shown, least) => {
  const { key, prefix } = createApiKey(isForSandbox);

  test("prefix, 36 random characters, checksum", () => {
    expect(key).toMatch(new RegExp(`^${mark}[0-9A-Za-z]{42}$`));
    expect([isKey(key), isSandboxKey(key)]).toEqual([true, isForSandbox]);
    expect(createApiKey(isForSandbox).key).not.toBe(key);
  });

  test("invalid with another character anywhere, or with one more or less", () => {
    const other = (at: number) => `${key.slice(0, at)}${key[at] === "x" ? "y" : "x"}${key.slice(at + 1)}`;
    const changed = Array.from({ length: key.length }, (_, at) => other(at));
    const otherMark = isForSandbox ? key.replace("sfk_test_", "sfk_") : key.replace("sfk_", "sfk_test_");
    expect([...changed, otherMark, `${key}x`, key.slice(0, -1), key.slice(1)].filter(isKey)).toEqual([]);
  });

  test("shows eight random characters, and can be named by four", () => {
    expect([prefix, visiblePrefix(key)]).toEqual([key.slice(0, shown), key.slice(0, shown)]);
    expect([minPrefixLength(key), minPrefixLength(prefix)]).toEqual([least, least]);
  });

  test("redacted in any text, whole, mistyped or cut off, once there's more than the prefix", () => {
    for (const end of [shown + 1, key.length - 1, key.length]) {
      const part = key.slice(0, end);
      expect(redactKeys(`/restapi/${part}.json?key=${part}&x`)).toBe(`/restapi/${prefix}....json?key=${prefix}...&x`);
    }
    expect(redactKeys(`${key}${key}`)).not.toContain(key.slice(0, shown + 1));
    expect(redactKeys(`${key.slice(0, -1)}_`)).toBe(`${prefix}..._`);
    expect(redactKeys(prefix)).toBe(prefix);
    const allEncoded = Buffer.from(key).toString("hex").replaceAll(/../g, "%$&");
    for (const encoded of [key.replaceAll("_", "%5F"), key.replace("_", "%5f"), allEncoded, allEncoded.toUpperCase()])
      expect(redactKeys(`/${encoded}.json`)).toBe(`/${prefix}....json`);
    expect(redactKeys("/restapi/%62rands.json?100%41")).toBe("/restapi/%62rands.json?100%41");
  });

  test("can be cut off anywhere after `sfk_`", () => {
    const parts = Array.from({ length: key.length - mark.length }, (_, index) => key.slice(0, mark.length + index));
    expect(parts.filter((part) => !isPartialKey(part))).toEqual([]);
    expect([key, `${key.slice(0, 20)}!`, "sfk"].filter(isPartialKey)).toEqual([]);
  });
});

test("API key: `sfk_test` plus a letter or digit is a live key", () => {
  const text = "sfk_testAbCdEfGh";
  expect([isSandboxKey(text), visiblePrefix(text), redactKeys(text)]).toEqual([
    false,
    "sfk_testAbCd",
    "sfk_testAbCd...",
  ]);
  expect([isSandboxKey("sfk_test"), minPrefixLength("sfk_test")]).toEqual([false, 8]);
});
