// Settings whose values are checked together, or are words (src/config.ts).

import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";

describe("how many requests a key may make at once", () => {
  test.each([
    [{}, 0, 1],
    [{ RATE: "0" }, 0, 1],
    [{ RATE: "1" }, 1, 2],
    [{ RATE: "50" }, 50, 100],
    [{ RATE: "1000000" }, 1_000_000, 2_000_000],
    [{ RATE: "50", BURST: "3" }, 50, 3],
    [{ RATE: "50", BURST: "10000000" }, 50, 10_000_000],
  ])("with %j at a rate of %i is %i", (settings, rate, burst) => {
    expect(readConfig(settings)).toMatchObject({ rate, burst });
  });

  test.each([
    { RATE: "1", BURST: "10000001" },
    { BURST: "0" },
    { BURST: "10000001" },
    { BURST: "-1" },
    { BURST: "x" },
    { BURST: "1.5" },
  ])("cannot be %j", (settings) => {
    expect(() => readConfig(settings)).toThrow(
      /--burst \(STOREFRONT_BURST\) must be a whole number from 1 to 10000000/,
    );
  });

  test("is rejected without a rate, because it would have no effect", () => {
    for (const settings of [{ BURST: "5" }, { RATE: "0", BURST: "5" }])
      expect(() => readConfig(settings)).toThrow(
        "--burst (STOREFRONT_BURST) has no effect without --rate (STOREFRONT_RATE)",
      );
  });
});

test("agents are served unless `--mcp none` says otherwise, and no other word is accepted", () => {
  expect([{}, { MCP: "public" }, { MCP: "none" }].map((settings) => readConfig(settings).mcp)).toEqual([
    true,
    true,
    false,
  ]);
  for (const MCP of ["off", "no", "None", "0", "/mcp"])
    expect(() => readConfig({ MCP })).toThrow(`--mcp (STOREFRONT_MCP) must be one of public, none, not "${MCP}"`);
});
