// Where the values of a plot are: the drawing has the last hour from left to right, and zero at the bottom.

/** The size of the drawing, which is stretched to the room that there is. */
export const [width, height] = [300, 80];

/** Milliseconds that a plot shows. */
export const span = 3_600_000;

/** A value; null for none. */
export interface PlotPoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly value: number | null;
}

/** A round number that no value is above. */
export function roundMax(values: readonly number[]): number {
  const max = Math.max(...values, 0);
  if (max === 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8].find((one) => one * unit >= max * 0.999) ?? 10;
  return factor * unit;
}

/** @param end the moment at the right edge */
export function toX(at: number, end: number): number {
  return (1 - (end - at) / span) * width;
}

/** A line through the points; a missing value, or a time without points, is a gap. */
export function toPath(points: readonly PlotPoint[], max: number, end: number): string {
  let before: number | undefined;
  const steps = points.map(({ at, value }) => {
    if (value === null) {
      before = undefined;
      return "";
    }
    const command = before !== undefined && at - before <= gap ? "L" : "M";
    before = at;
    return `${command}${toX(at, end).toFixed(1)} ${((1 - value / max) * (height - 2) + 1).toFixed(1)}`;
  });
  return steps.join("");
}

/** Milliseconds without a point after which the line is interrupted. */
const gap = 90_000;

/** The point that is nearest to a moment, if one is near. */
export function nearest(points: readonly PlotPoint[], at: number): PlotPoint | undefined {
  let found: PlotPoint | undefined;
  for (const point of points) if (!found || Math.abs(point.at - at) < Math.abs(found.at - at)) found = point;
  return found && Math.abs(found.at - at) <= gap ? found : undefined;
}
