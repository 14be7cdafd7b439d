// Converts times and values of a plot to coordinates. The drawing shows the last hour from left to right, and has zero at the bottom.

/** The size of the drawing in its own units. It is stretched to the available space. */
export const [width, height] = [300, 80];

/** Milliseconds that a plot shows: an hour. */
export const spanMs = 3_600_000;

/** A value at a time. */
export interface PlotPoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Null for a missing value. */
  readonly value: number | null;
}

/** Returns a round number, at least as large as all values (with a tolerance of 0.1 %): the top of the scale. */
export function roundMax(values: readonly number[]): number {
  const max = Math.max(...values, 0);
  if (max === 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8].find((one) => one * unit >= max * 0.999) ?? 10;
  return factor * unit;
}

/** Converts a time to a horizontal coordinate. @param end the time at the right edge */
export function toX(at: number, end: number): number {
  return (1 - (end - at) / spanMs) * width;
}

/** Returns an SVG path through the points. A missing value, or a time without points, makes a gap in the line. */
export function toPath(points: readonly PlotPoint[], max: number, end: number): string {
  let before: number | undefined;
  const steps = points.map(({ at, value }) => {
    if (value === null) {
      before = undefined;
      return "";
    }
    const command = before !== undefined && at - before <= maxGapMs ? "L" : "M";
    before = at;
    return `${command}${toX(at, end).toFixed(1)} ${((1 - value / max) * (height - 2) + 1).toFixed(1)}`;
  });
  return steps.join("");
}

/** Maximum milliseconds between two points that the line connects. */
const maxGapMs = 90_000;

/** Returns the point nearest to a time; undefined if it is more than 90 seconds away. */
export function nearest(points: readonly PlotPoint[], at: number): PlotPoint | undefined {
  let found: PlotPoint | undefined;
  for (const point of points) if (!found || Math.abs(point.at - at) < Math.abs(found.at - at)) found = point;
  return found && Math.abs(found.at - at) <= maxGapMs ? found : undefined;
}
