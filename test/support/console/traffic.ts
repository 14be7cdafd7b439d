// Made-up figures for pictures of the overview.

interface ShownPoint {
  readonly at: string;
  readonly seconds: number;
  readonly requests: number;
  readonly errors: number;
  readonly writes: number;
  readonly p50: number;
  readonly p99: number;
}

/** Data for `/operator/traffic`: always the same hour, part of it busy. @param end milliseconds since 1970 */
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

/** Data for `/operator/sites/{site}/key-traffic`: always the same day of three keys. @param end milliseconds since 1970 */
export function madeUpKeyTraffic(end: number) {
  const hourMs = 3_600_000;
  const last = Math.floor(end / hourMs) * hourMs;
  const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  const keys = [
    { label: "website", busy: 420, errorEach: 0.002 },
    { label: "warehouse till", busy: 96, errorEach: 0 },
    { label: "price comparison", busy: 31, errorEach: 0.12 },
  ].map(({ label, busy, errorEach }, index) => {
    const requestsByHour = Array.from({ length: 24 }, (_, hour) =>
      Math.max(0, Math.round(busy * (0.6 + 0.5 * Math.sin((hour - 3) / 3.8)) + ((hour * 7 + index) % 9))),
    );
    const errorsByHour = requestsByHour.map((count) => Math.round(count * errorEach));
    const counts = { requests: sum(requestsByHour), errors: sum(errorsByHour), requestsByHour, errorsByHour };
    const lastUsed = new Date(end - (index * 7 + 1) * 60_000).toISOString();
    return { id: index + 1, prefix: `sfk_picture${index}`, label, lastUsed, ...counts };
  });
  const hours = Array.from({ length: 24 }, (_, hour) => new Date(last - (23 - hour) * hourMs).toISOString());
  return { since: new Date(end - 9 * 24 * hourMs).toISOString(), hours, keys };
}
