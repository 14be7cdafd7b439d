// Converts a chart's times and values to coordinates. Time runs from left to right, and zero is at the bottom.

/** The drawing's size in its own units. It's stretched to the available space. */
export const [width, height] = [300, 80];

/** The time range of a chart, in milliseconds since 1970. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ChartPoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Null if there is no value. */
  readonly value: number | null;
}

/** Returns a round number for the top of the scale, at least as large as all values (within 0.1%). */
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

/** A line connects two points at most this many steps apart. */
const maxGapSteps = 4.5;

/**
 * Returns an SVG path through the points. Missing values, or times without points, leave a gap in the line. A point between two gaps is a dot. @param
 * stepMs milliseconds between two points
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

/** Returns an SVG path for the area under a line. @param line the path from `toLine` */
export function toArea(line: string): string {
  const parts = line.split("M").slice(1);
  return parts
    .map((part) => `M${part.split(" ", 1)[0]} ${height - 1}L${part.replace("h0", "")}V${height - 1}z`)
    .join("");
}

/** Returns an SVG path with a bar for each point above zero, starting at its time. @param stepMs milliseconds from one bar to the next */
export function toBars(points: readonly ChartPoint[], max: number, span: Span, stepMs: number): string {
  const barWidth = (toX(span.start + stepMs, span) * 0.8).toFixed(1);
  const bars = points.map(({ at, value }) => {
    if (!value) return "";
    // Keeps small values visible.
    const top = Math.min(toY(value, max), height - 3);
    return `M${toX(at, span).toFixed(1)} ${height - 1}V${top.toFixed(1)}h${barWidth}V${height - 1}z`;
  });
  return bars.join("");
}

/** Returns the point nearest to a time, or undefined if it's more than 4.5 steps away. */
export function nearest(points: readonly ChartPoint[], at: number, stepMs: number): ChartPoint | undefined {
  let found: ChartPoint | undefined;
  for (const point of points) if (!found || Math.abs(point.at - at) < Math.abs(found.at - at)) found = point;
  return found && Math.abs(found.at - at) <= maxGapSteps * stepMs ? found : undefined;
}

/** Divides a span into `count` parts. Returns when each one starts, and the highest value of each list of points in it, or null. */
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
