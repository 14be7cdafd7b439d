// Coordinates in the console's overview charts.

import { describe, expect, test } from "bun:test";
import {
  height,
  highestValues,
  nearest,
  roundMax,
  toBars,
  toLine,
  toX,
  width,
} from "../../../../src/console/overview/chart-scale.ts";

test.each([
  [[], 1],
  [[0], 1],
  [[0.4], 0.4],
  [[1], 1],
  [[1.0009], 1],
  [[1.01], 1.5],
  [[7, 3], 8],
  [[3.5], 4],
  [[4.5], 5],
  [[5.5], 6],
  [[81], 100],
  [[1500], 1500],
])("scale: the top for %p is %p", (values, top) => {
  expect(roundMax(values)).toBeCloseTo(top, 9);
});

const minute = 60_000;
const hour = { start: 0, end: 60 * minute };

test("span: drawn from left to right", () => {
  const span = { start: 1000, end: 3000 };
  expect([1000, 2000, 3000].map((at) => toX(at, span))).toEqual([0, width / 2, width]);
});

const valuesAt = (...times: [seconds: number, value: number | null][]) =>
  times.map(([seconds, value]) => ({ at: seconds * 1000, value }));
const commands = (path: string) => path.replace(/[^MLhVz]/g, "");

describe("a line", () => {
  test("goes from zero at the bottom to the top of the scale", () => {
    const points = [0, 30, 90].map((value, index) => ({ at: index * minute, value }));
    expect(toLine(points, 90, hour, 20_000)).toBe(`M0.0 ${height - 1}.0h0L5.0 53.0L10.0 1.0`);
  });

  test("has a gap where a value is missing, or where there's no point for more than 4.5 steps", () => {
    expect(commands(toLine(valuesAt([0, 1], [60, null], [120, 1], [180, 1]), 1, hour, 20_000))).toBe("MhMhL");
    expect(commands(toLine(valuesAt([0, 1], [90, 1], [181, 1]), 1, hour, 20_000))).toBe("MhLMh");
    expect(commands(toLine(valuesAt([0, 1], [90, 1], [181, 1]), 1, hour, 60_000))).toBe("MhLL");
  });
});

describe("bars", () => {
  test("stand on zero, and values above it always show", () => {
    const points = [0, 1, 1000].map((value, index) => ({ at: index * minute, value }));
    const step = minute;
    expect(toBars(points, 1000, hour, step)).toBe("M5.0 79V77.0h4.0V79zM10.0 79V1.0h4.0V79z");
    expect(toBars(valuesAt([0, null]), 1, hour, step)).toBe("");
  });
});

test("nearest point: at most 4.5 steps away", () => {
  const points = [100_000, 160_000, 220_000].map((at) => ({ at, value: 1 }));
  const nearestTo = (at: number) => nearest(points, at, 20_000)?.at;
  expect([150_000, 129_000, 10_000, 310_000].map(nearestTo)).toEqual([160_000, 100_000, 100_000, 220_000]);
  expect([9_999, 310_001].map(nearestTo)).toEqual([undefined, undefined]);
  expect(nearest([], 0, 20_000)).toBeUndefined();
});

test("table: each part's highest value, or null", () => {
  const lists = [valuesAt([0, 1], [29, 5], [30, 2]), valuesAt([45, null], [3600, 9])];
  expect(highestValues(lists, { start: 0, end: 60_000 }, 2)).toEqual([
    { at: 0, values: [5, null] },
    { at: 30_000, values: [2, null] },
  ]);
});
