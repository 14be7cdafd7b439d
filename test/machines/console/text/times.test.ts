// Times as the console shows them.

import { expect, test } from "bun:test";

// Bun does not name the languages of a browser.
Object.defineProperty(navigator, "languages", { value: ["en-GB"] });
const { toAgo, toDay, toDayText, toMoment, localizeTimes } = await import("../../../../src/console/text/times.tsx");

const now = Date.parse("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const [minute, hour, day] = [60, 3600, 86_400];

test.each([
  [0, "just now"],
  [-29, "just now"],
  [-31, "1 minute ago"],
  [-5 * minute, "5 minutes ago"],
  [-59 * minute, "59 minutes ago"],
  [-hour, "1 hour ago"],
  [-89 * minute, "1 hour ago"],
  [-23 * hour, "23 hours ago"],
  [-day, "yesterday"],
  [-6 * day, "6 days ago"],
  [2 * minute, "in 2 minutes"],
  [3 * hour, "in 3 hours"],
  [day, "tomorrow"],
])("a time %d seconds from now is %p", (seconds, text) => {
  expect(toAgo(at(seconds), now)).toBe(text);
});

test.each([-7 * day, 7 * day, -400 * day])("a time %d seconds from now is a day", (seconds) => {
  expect(toAgo(at(seconds), now)).toBe(toDay(at(seconds)));
});

test("times in the server's texts: shown in the reader's time zone", () => {
  const [first, second] = ["2026-03-01T12:00:00Z", "2026-03-02T07:30:15.123Z"];
  expect(localizeTimes(`failed since ${first}, next at ${second}`)).toBe(
    `failed since ${toMoment(first)}, next at ${toMoment(second)}`,
  );
  expect(toMoment(first)).not.toContain("T12");
  expect(localizeTimes("no time")).toBe("no time");
});

test("day: as text for an input, in the reader's time zone", () => {
  expect(toDayText(new Date(2026, 0, 5, 23, 59))).toBe("2026-01-05");
});
