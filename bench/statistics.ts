// Medians and spreads of repeated measurements, for all reports.

/** Returns the middle of the values, the higher one of two; NaN if there are none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function total(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Returns the median, and in parentheses the lowest and the highest value if they differ as formatted: `8.8 (8.7 to 9.4)`. */
export function toSpread(values: readonly number[], format: (value: number) => string): string {
  const [middle, lowest, highest] = [median(values), Math.min(...values), Math.max(...values)].map(format);
  return lowest === highest ? `${middle}` : `${middle} (${lowest} to ${highest})`;
}
