// `/metrics`, for Prometheus.

import { coalesced } from "../lib/coalesced.ts";
import { type MetricsSample, metricsType, toMetricsText } from "../lib/metric-samples.ts";
import type { AdminRoute } from "./handler.ts";

export function metricsRoute(samples: () => Promise<readonly MetricsSample[]>): [path: string, route: AdminRoute] {
  // Each scrape costs every worker some milliseconds, so scrapes at the same time share one.
  const text = coalesced(async () => toMetricsText(await samples()));
  return ["/metrics", { GET: async () => ({ headers: { "Content-Type": metricsType }, body: await text() }) }];
}
