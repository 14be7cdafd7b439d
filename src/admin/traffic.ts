// Derives the traffic charts in the console's overview from the metrics: the last hour in 20-second points, and the last day in 5-minute points.

import type { MetricsSample, MetricValue } from "../lib/metrics.ts";
import type { TrafficPointInfo } from "./api/types.ts";

const pointIntervalMs = 20_000;
const maxPoints = 180;
const dayIntervalMs = 300_000;
const maxDayPoints = 288;

interface TrafficPoint extends Omit<TrafficPointInfo, "at"> {
  /** End of the interval, in milliseconds since 1970. */
  readonly at: number;
}

interface Totals {
  readonly requests: number;
  readonly errors: number;
  readonly writes: number;
  /** Cumulative histogram: how many requests took at most this many seconds. */
  readonly durations: ReadonlyMap<number, number>;
}

/** Reads the metrics every 20 seconds until it's stopped. The first `addPoint` only remembers the totals. */
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
  }

  get points(): readonly TrafficPoint[] {
    return this.#hour.points;
  }

  get dayPoints(): readonly TrafficPoint[] {
    return this.#day.points;
  }

  /** Adds a point for the time since the last call. */
  async addPoint(): Promise<void> {
    const totals = totalsOf((await this.#samples()).flat());
    const at = this.#now();
    // Counts go down if a process is killed before sending its own. There's no point for the time in which that happened.
    const isLost = totals.requests < this.#requests;
    this.#requests = totals.requests;
    for (const series of [this.#hour, this.#day]) series.add(at, totals, isLost);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The latest points. Each covers the time since the one before it. */
class Series {
  readonly points: TrafficPoint[] = [];
  readonly #intervalMs: number;
  readonly #maxPoints: number;
  #last: { readonly at: number; readonly totals: Totals } | undefined;

  constructor(intervalMs: number, max: number) {
    this.#intervalMs = intervalMs;
    this.#maxPoints = max;
  }

  /** Adds a point if the interval is over. @param isLost whether counts went down, so that there's no point for the time since the last one */
  add(at: number, totals: Totals, isLost: boolean): void {
    const last = this.#last;
    // Half a sample early is fine, because timers aren't exact.
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

/** 501 doesn't count: it means a method that HTTP doesn't have, which is the client's mistake. */
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
 * Estimates a quantile by linear interpolation between a histogram's bounds.
 * @param bounds in seconds, ascending
 * @param counts for each bound, how many requests took at most that long
 * @param share from 0 to 1
 * @returns milliseconds, or null if there were no requests
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
