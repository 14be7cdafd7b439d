import { readyFamily } from "../http/server-metrics.ts";
import { counter, gauge } from "../lib/metric-families.ts";
import type { MetricFamily } from "../lib/metric-samples.ts";

/** The worker processes of a server, as its main process knows them. */
interface WorkerCounts {
  /** Those that respond. */
  readonly responding: number;
  /** `--workers`. */
  readonly expected: number;
  /** Processes that ended by themselves, and were replaced, since the start. */
  readonly restarts: number;
}

/** When this process was started, in seconds since 1970. */
const startedAt = Math.floor(Date.now() / 1000 - process.uptime());

/** What only the main process of a server can tell. If no worker responds, none can say that it is not ready. */
export function processFamilies({ responding, expected, restarts }: WorkerCounts): MetricFamily[] {
  return [
    gauge("storefront_workers", "Processes that serve the public port and respond to the main process.", responding),
    gauge("storefront_workers_expected", "Processes that should serve the public port, `--workers`.", expected),
    counter(
      "storefront_restarts_total",
      "Processes of this server that ended by themselves and were replaced.",
      restarts,
    ),
    gauge("storefront_start_time_seconds", "When the main process of this server was started.", startedAt, "max"),
    ...(responding === 0 ? [readyFamily(false)] : []),
  ];
}
