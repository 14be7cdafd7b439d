// `/metrics`, for Prometheus.

import { type MetricsSample, metricsType, toMetricsText } from "../lib/metric-samples.ts";
import type { AdminRoute } from "./handler.ts";

export function metricsRoute(samples: () => Promise<readonly MetricsSample[]>): [path: string, route: AdminRoute] {
  const respond = async () => ({ type: metricsType, body: await toMetricsText(await samples()) });
  return ["/metrics", { methods: ["GET", "HEAD"], respond }];
}
