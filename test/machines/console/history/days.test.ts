// The days that the history is limited to, in the tests' time zone.

import { describe, expect, test } from "bun:test";

// Bun does not name the languages of a browser.
Object.defineProperty(navigator, "languages", { value: ["en-GB"] });
const { daysOf, parseDay, presetOf, toInstants } = await import("../../../../src/console/history/days.ts");

const noon = (day: string) => new Date(`${day}T12:00`).getTime();

test.each([
  ["today", "2026-03-01", "2026-03-01", "2026-03-01"],
  ["yesterday", "2026-03-01", "2026-02-28", "2026-02-28"],
  ["week", "2026-03-03", "2026-02-25", "2026-03-03"],
  ["month", "2026-03-31", "2026-02-01", "2026-02-28"],
  ["month", "2026-01-01", "2025-12-01", "2025-12-31"],
] as const)("%s on %s is %s to %s", (preset, now, from, to) => {
  expect(daysOf(preset, noon(now))).toEqual({ from, to });
  expect(presetOf({ from, to }, noon(now))).toBe(preset);
  expect(presetOf({ from, to: "" }, noon(now))).toBeUndefined();
});

describe("a range's times", () => {
  test("midnight before the first day to midnight after the last", () => {
    const { from = "", to = "" } = toInstants({ from: "2026-03-28", to: "2026-03-29" });
    expect([new Date(from), new Date(to)]).toEqual([new Date(2026, 2, 28), new Date(2026, 2, 30)]);
  });

  test("missing for an open end", () => {
    expect(toInstants({ from: "", to: "" })).toEqual({});
    expect(Object.keys(toInstants({ from: "2026-01-31", to: "" }))).toEqual(["from"]);
  });
});

test.each([
  null,
  "",
  "today",
  "2026-02-30",
  "2026-13-01",
  "0202-01-01",
  "2026-1-1",
  "12026-01-01",
  "2026-01-01T10:00",
])("%p isn't a day", (text) => expect(parseDay(text)).toBe(""));

test("calendar days are days", () => {
  expect(["2024-02-29", "2026-12-31"].map(parseDay)).toEqual(["2024-02-29", "2026-12-31"]);
});
