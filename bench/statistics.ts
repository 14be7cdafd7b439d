// Medians and spreads for all reports.

/** Returns the higher of the two middle values if their number is even; NaN if there are none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function total(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Formats the median, followed by the lowest and highest values if they look different: `8.8 (8.7 to 9.4)`. */
export function toSpread(values: readonly number[], format: (value: number) => string): string {
  const [middle, lowest, highest] = [median(values), Math.min(...values), Math.max(...values)].map(format);
  return lowest === highest ? `${middle}` : `${middle} (${lowest} to ${highest})`;
}
