// Made-up figures of an hour, for pictures of the overview.

interface ShownPoint {
  readonly at: string;
  readonly seconds: number;
  readonly requests: number;
  readonly errors: number;
  readonly writes: number;
  readonly p50: number;
  readonly p99: number;
}

/** The data of `/operator/traffic`: an hour with a busy time, the same each time. @param end milliseconds since 1970 */
export function madeUpTraffic(end: number): readonly ShownPoint[] {
  return Array.from({ length: 180 }, (_, index) => {
    const wave = 42 + 16 * Math.sin(index / 17) + 7 * Math.sin(index / 3.1) + (index % 7);
    const busy = Math.max(0, 60 - 6 * Math.abs(index - 110));
    return {
      at: new Date(end - (179 - index) * 20_000).toISOString(),
      seconds: 20,
      requests: Math.round((wave + busy) * 20),
      errors: 0,
      writes: Math.round(wave + busy * 0.8),
      p50: 1.6 + 0.3 * Math.sin(index / 11) + busy / 90,
      p99: 8 + 2 * Math.sin(index / 7) + busy / 4,
    };
  });
}
