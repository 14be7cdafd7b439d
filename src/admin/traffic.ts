// Records the traffic of the server for the overview of the console, derived from the metrics: the last hour in points of 20 seconds, and the last day
// in points of 5 minutes.

import type { MetricsSample, MetricValue } from "../lib/metrics.ts";
import type { TrafficPointInfo } from "./api/types.ts";

/** Milliseconds between two points of the last hour. */
const pointIntervalMs = 20_000;
/** Maximum number of these points. */
const maxPoints = 180;
/** Milliseconds between two points of the last day, and the maximum number of them. */
const dayIntervalMs = 300_000;
const maxDayPoints = 288;

interface TrafficPoint extends Omit<TrafficPointInfo, "at"> {
  /** The end of the interval, in milliseconds since 1970. */
  readonly at: number;
}

interface Totals {
  readonly requests: number;
  readonly errors: number;
  readonly writes: number;
  /** Cumulative histogram: for each bound in seconds, the number of requests that took at most this time. */
  readonly durations: ReadonlyMap<number, number>;
}

/** The points of the last hour and of the last day. Reads the metrics every 20 seconds, until `stop` is called. */
export class TrafficHistory {
  readonly #samples: () => Promise<readonly MetricsSample[]>;
  readonly #now: () => number;
  readonly #hour = new Series(pointIntervalMs, maxPoints);
  readonly #day = new Series(dayIntervalMs, maxDayPoints);
  readonly #timer: NodeJS.Timeout;
  #requests = 0;

  constructor(samples: () => Promise<readonly MetricsSample[]>, now: () => number) {
    this.#samples = samples;
    this.#now = now;
    this.#timer = setInterval(() => void this.addPoint().catch(() => {}), pointIntervalMs);
    this.#timer.unref();
    void this.addPoint().catch(() => {});
  }

  get points(): readonly TrafficPoint[] {
    return this.#hour.points;
  }

  get dayPoints(): readonly TrafficPoint[] {
    return this.#day.points;
  }

  /** Adds a point for the time since the last call. A timer calls it every 20 seconds. */
  async addPoint(): Promise<void> {
    const totals = totalsOf((await this.#samples()).flat());
    const at = this.#now();
    // Counts decrease if a process was killed before it sent its counts. No point then has the time in which they were lost.
    const isLost = totals.requests < this.#requests;
    this.#requests = totals.requests;
    for (const series of [this.#hour, this.#day]) series.add(at, totals, isLost);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The latest points, each for the time since the point before it. */
class Series {
  readonly points: TrafficPoint[] = [];
  readonly #intervalMs: number;
  readonly #maxPoints: number;
  #last: { readonly at: number; readonly totals: Totals } | undefined;

  constructor(intervalMs: number, max: number) {
    this.#intervalMs = intervalMs;
    this.#maxPoints = max;
  }

  /** Adds a point if the interval has passed. @param isLost whether the counts decreased: then the time since the last point is omitted */
  add(at: number, totals: Totals, isLost: boolean): void {
    const last = this.#last;
    // Half a sample less than the interval, because a timer is not exact.
    if (last && !isLost && at > last.at && at - last.at < this.#intervalMs - pointIntervalMs / 2) return;
    this.#last = { at, totals };
    if (!last || isLost || at <= last.at) return;
    this.points.push(toPoint(last.totals, totals, last.at, at));
    if (this.points.length > this.#maxPoints) this.points.shift();
  }
}

function totalsOf(families: MetricsSample): Totals {
  const valuesOf = (name: string) => families.filter((family) => family.name === name).flatMap(({ values }) => values);
  const requests = valuesOf("storefront_http_requests_total");
  const durations = new Map<number, number>();
  for (const { metricName, labels, value } of valuesOf("storefront_http_request_duration_seconds")) {
    if (!metricName?.endsWith("_bucket") || labels.operation === "changes") continue;
    const bound = labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le);
    durations.set(bound, (durations.get(bound) ?? 0) + value);
  }
  const isWrite = ({ labels }: MetricValue) =>
    Number(labels.status) < 300 && ["POST", "PUT", "PATCH", "DELETE"].includes(String(labels.method));
  return {
    requests: sumOf(requests),
    errors: sumOf(requests.filter(({ labels }) => isServerError(Number(labels.status)))),
    writes: sumOf(requests.filter(isWrite)),
    durations,
  };
}

/** Whether the server failed. 501 means a method that HTTP does not have, which is a mistake of the client. */
function isServerError(status: number): boolean {
  return status >= 500 && status !== 501;
}

function sumOf(values: readonly MetricValue[]): number {
  return values.reduce((sum, { value }) => sum + value, 0);
}

function toPoint(before: Totals, after: Totals, from: number, at: number): TrafficPoint {
  const bounds = [...after.durations.keys()].sort((a, b) => a - b);
  const counts = bounds.map((bound) => (after.durations.get(bound) ?? 0) - (before.durations.get(bound) ?? 0));
  return {
    at,
    seconds: (at - from) / 1000,
    requests: after.requests - before.requests,
    errors: after.errors - before.errors,
    writes: after.writes - before.writes,
    p50: quantile(bounds, counts, 0.5),
    p99: quantile(bounds, counts, 0.99),
  };
}

/**
 * Estimates the milliseconds in which a share of the requests was done, by linear interpolation between the bounds of a histogram.
 * @param bounds in seconds, ascending
 * @param counts for each bound, the number of requests that took at most this time
 * @param share from 0 to 1
 * @returns null if there were no requests
 */
function quantile(bounds: readonly number[], counts: readonly number[], share: number): number | null {
  const total = counts.at(-1) ?? 0;
  if (total <= 0) return null;
  const wanted = total * share;
  const index = counts.findIndex((count) => count >= wanted);
  const [low, high] = [bounds[index - 1] ?? 0, bounds[index] ?? 0];
  if (!Number.isFinite(high)) return low * 1000;
  const [under, over] = [counts[index - 1] ?? 0, counts[index] as number];
  return 1000 * (low + (high - low) * ((wanted - under) / Math.max(1, over - under)));
}
