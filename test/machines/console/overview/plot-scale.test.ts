// The coordinates of the plots in the console's overview.

import { describe, expect, test } from "bun:test";
import { height, nearest, roundMax, spanMs, toPath, toX, width } from "../../../../src/console/overview/plot-scale.ts";

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
])("the top of the scale for %p is %p", (values, top) => {
  expect(roundMax(values)).toBeCloseTo(top, 9);
});

test("the last hour is drawn from left to right", () => {
  expect([0, spanMs / 2, spanMs].map((at) => toX(at, spanMs))).toEqual([0, width / 2, width]);
});

describe("a line", () => {
  const minute = 60_000;
  const end = 60 * minute;

  test("goes from zero at the bottom to the top of the scale", () => {
    const points = [0, 30, 90].map((value, index) => ({ at: index * minute, value }));
    expect(toPath(points, 90, end)).toBe(`M0.0 ${height - 1}.0L5.0 53.0L10.0 1.0`);
  });

  test("has a gap where a value is missing, and where more than 90 seconds have no point", () => {
    const values = (...times: [number, number | null][]) =>
      times.map(([seconds, value]) => ({ at: seconds * 1000, value }));
    const commands = (path: string) => path.replace(/[^ML]/g, "");
    expect(commands(toPath(values([0, 1], [60, null], [120, 1], [180, 1]), 1, end))).toBe("MML");
    expect(commands(toPath(values([0, 1], [90, 1], [181, 1]), 1, end))).toBe("MLM");
  });
});

test("the nearest point is at most 90 seconds away", () => {
  const points = [100_000, 160_000, 220_000].map((at) => ({ at, value: 1 }));
  expect(nearest(points, 150_000)?.at).toBe(160_000);
  expect(nearest(points, 129_000)?.at).toBe(100_000);
  expect(nearest(points, 10_000)?.at).toBe(100_000);
  expect(nearest(points, 9_999)).toBeUndefined();
  expect(nearest(points, 310_000)?.at).toBe(220_000);
  expect(nearest(points, 310_001)).toBeUndefined();
  expect(nearest([], 0)).toBeUndefined();
});
