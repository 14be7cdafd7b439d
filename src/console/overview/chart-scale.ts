// Converts times and values of a chart to coordinates. The drawing shows a span of time from left to right, and has zero at the bottom.

/** The size of the drawing in its own units. It is stretched to the available space. */
export const [width, height] = [300, 80];

/** The time that a chart shows, in milliseconds since 1970. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ChartPoint {
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

export function toX(at: number, { start, end }: Span): number {
  return ((at - start) / (end - start)) * width;
}

/** Converts a value to a vertical coordinate. @param max the top of the scale */
function toY(value: number, max: number): number {
  return (1 - value / max) * (height - 2) + 1;
}

/** Maximum number of steps between two points that a line connects. */
const maxGapSteps = 4.5;

/**
 * Returns an SVG path through the points. A missing value, or a time without points, makes a gap in the line. A point between gaps is a dot.
 * @param stepMs milliseconds between two points
 */
export function toLine(points: readonly ChartPoint[], max: number, span: Span, stepMs: number): string {
  let before: number | undefined;
  const steps = points.map(({ at, value }) => {
    if (value === null) {
      before = undefined;
      return "";
    }
    const isConnected = before !== undefined && at - before <= maxGapSteps * stepMs;
    before = at;
    const place = `${toX(at, span).toFixed(1)} ${toY(value, max).toFixed(1)}`;
    return isConnected ? `L${place}` : `M${place}h0`;
  });
  return steps.join("");
}

/** Returns an SVG path of the area between a line and zero. @param line the path from `toLine` */
export function toArea(line: string): string {
  const parts = line.split("M").slice(1);
  return parts
    .map((part) => `M${part.split(" ", 1)[0]} ${height - 1}L${part.replace("h0", "")}V${height - 1}z`)
    .join("");
}

/** Returns an SVG path of a bar for each point above zero, from the time of the point on. @param stepMs milliseconds of a bar with the space after it */
export function toBars(points: readonly ChartPoint[], max: number, span: Span, stepMs: number): string {
  const barWidth = (toX(span.start + stepMs, span) * 0.8).toFixed(1);
  const bars = points.map(({ at, value }) => {
    if (!value) return "";
    // A small value must not look like none.
    const top = Math.min(toY(value, max), height - 3);
    return `M${toX(at, span).toFixed(1)} ${height - 1}V${top.toFixed(1)}h${barWidth}V${height - 1}z`;
  });
  return bars.join("");
}

/** Returns the point nearest to a time; undefined if it is more than 4.5 steps away. */
export function nearest(points: readonly ChartPoint[], at: number, stepMs: number): ChartPoint | undefined {
  let found: ChartPoint | undefined;
  for (const point of points) if (!found || Math.abs(point.at - at) < Math.abs(found.at - at)) found = point;
  return found && Math.abs(found.at - at) <= maxGapSteps * stepMs ? found : undefined;
}

/** Divides a span into `count` parts. Returns the start of each, and for each list of points the highest value in it, or null. */
export function highestValues(
  lists: readonly (readonly ChartPoint[])[],
  { start, end }: Span,
  count: number,
): readonly { readonly at: number; readonly values: readonly (number | null)[] }[] {
  const partMs = (end - start) / count;
  return Array.from({ length: count }, (_, index) => {
    const [from, to] = [start + index * partMs, start + (index + 1) * partMs];
    const values = lists.map((points) => {
      const inside = points.flatMap(({ at, value }) => (at >= from && at < to && value !== null ? [value] : []));
      return inside.length === 0 ? null : Math.max(...inside);
    });
    return { at: from, values };
  });
}
