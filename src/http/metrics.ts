// What is counted for Prometheus.

import type { Registry } from "prom-client";
import { type MetricsSample, metricsLibrary, metricsType, sampleOf, toMetricsText } from "../lib/metric-samples.ts";
import { once } from "../lib/once.ts";
import type { Snapshots } from "../store/snapshots.ts";
import { toResponse } from "./responses.ts";
import { type PublicRoute, publicRoute, type Route } from "./route.ts";

/** Upper bounds of the duration buckets, in milliseconds. */
const bounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500];

export interface Metrics {
  /** Counts a response that took `milliseconds`. @param route undefined when the path has none */
  count(route: Route | undefined, method: string, status: number, milliseconds: number): void;
  /** Loads the code that `sample` needs. */
  load(): Promise<unknown>;
  sample(): Promise<MetricsSample>;
}

export function metricsRoute(metrics: Metrics): [path: string, route: PublicRoute] {
  return publicRoute("/metrics", async (exchange) => {
    const body = await toMetricsText([await metrics.sample()]);
    return toResponse(exchange, 200, { type: metricsType, body });
  });
}

/** Responses by route, method and status. */
type Counts = Map<Route | undefined, Map<string, number[]>>;

/** Requests are counted in plain numbers, because a counter of the library costs a microsecond. The library does the rest. */
export function createMetrics(snapshots: Snapshots): Metrics {
  const counts: Counts = new Map();
  const buckets = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  const registry = once(() => createRegistry(counts, snapshots));
  return {
    count(route, method, status, milliseconds) {
      const byStatus = countsOf(counts, route, method);
      byStatus[status] = (byStatus[status] ?? 0) + 1;
      const bucket = bounds.findIndex((bound) => milliseconds <= bound);
      const index = bucket === -1 ? bounds.length : bucket;
      buckets[index] = (buckets[index] ?? 0) + 1;
      sum += milliseconds;
    },
    load: metricsLibrary,
    sample: async () => [...(await sampleOf(await registry())), toHistogram(buckets, sum)],
  };
}

async function createRegistry(counts: Counts, snapshots: Snapshots): Promise<Registry> {
  const { Counter, collectDefaultMetrics, Gauge, Registry } = await metricsLibrary();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Counter({
    name: "storefront_http_requests_total",
    help: "Requests by route, method and status. The route is empty for unknown paths and unreadable requests.",
    labelNames: ["route", "method", "status"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [route, methods] of counts) {
        for (const [method, byStatus] of methods) {
          const labels = { route: route?.label ?? "", method };
          byStatus.forEach((count, status) => void this.inc({ ...labels, status: String(status) }, count));
        }
      }
    },
  });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge("storefront_sites_in_memory", "Sites whose records are in memory.", () => snapshots.size.sites);
  gauge("storefront_snapshot_bytes", "Estimated memory of the records in memory.", () => snapshots.size.bytes);
  return registry;
}

/** The counts of `method` on `route`, by status. */
function countsOf(counts: Counts, route: Route | undefined, method: string): number[] {
  let ofRoute = counts.get(route);
  if (!ofRoute) {
    ofRoute = new Map();
    counts.set(route, ofRoute);
  }
  let byStatus = ofRoute.get(method);
  if (!byStatus) {
    byStatus = [];
    ofRoute.set(method, byStatus);
  }
  return byStatus;
}

/** A histogram as prom-client makes it: cumulative buckets, in seconds. */
function toHistogram(buckets: readonly number[], sum: number): MetricsSample[number] {
  const name = "storefront_http_request_duration_seconds";
  let total = 0;
  const cumulative = buckets.map((count, index) => {
    total += count;
    const bound = bounds[index];
    const labels = { le: bound === undefined ? "+Inf" : bound / 1000 };
    return { metricName: `${name}_bucket`, labels, value: total };
  });
  return {
    name,
    help: "Time from a request to its response.",
    type: "histogram",
    aggregator: "sum",
    values: [
      ...cumulative,
      { metricName: `${name}_sum`, labels: {}, value: sum / 1000 },
      { metricName: `${name}_count`, labels: {}, value: total },
    ],
  };
}
