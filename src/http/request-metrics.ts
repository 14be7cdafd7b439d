// Counts requests for Prometheus; the admin listener serves the result. Label values never come from clients, so the number of series is limited.

import type { Registry } from "prom-client";
import { once } from "../lib/concurrency.ts";
import {
  counter,
  durationBounds,
  Histogram,
  histogram,
  type MetricFamily,
  type MetricsSample,
  metricsLibrary,
  readSample,
} from "../lib/metrics.ts";
import { methodLabel } from "./common/known-methods.ts";
import type { BatchCounts, KeyRejection, RequestContext, Route } from "./request-context.ts";

export type Metrics = ReturnType<typeof createMetrics>;

interface RequestCounts {
  readonly statuses: number[];
  /** In milliseconds. All endpoints and methods with the same operation share a histogram. */
  readonly durations: Histogram;
}

type Counts = Map<Route | undefined, Map<string, RequestCounts>>;

const batchResults: readonly (keyof BatchCounts)[] = ["changed", "unchanged", "rejected"];

/** @param others returns the metrics that aren't counted here */
export function createMetrics(others: (checksReadiness: boolean) => Promise<readonly MetricFamily[]>) {
  const counts: Counts = new Map();
  const sandboxCounts: Counts = new Map();
  const durations = new Map<string, Histogram>();
  const keyRejections = new Map<KeyRejection, number>();
  const batchCounts = { changed: 0, unchanged: 0, rejected: 0 };
  const registry = once(createRegistry);
  return {
    /** @param milliseconds from the request's header section to the response */
    countResponse(
      {
        route,
        method,
        sandbox,
        keyRejection,
        batch,
      }: Pick<RequestContext, "route" | "method" | "sandbox" | "keyRejection" | "batch">,
      status: number,
      milliseconds: number,
    ): void {
      const ofMethod = countsOf(sandbox === undefined ? counts : sandboxCounts, durations, route, methodLabel(method));
      ofMethod.statuses[status] = (ofMethod.statuses[status] ?? 0) + 1;
      ofMethod.durations.add(milliseconds);
      if (keyRejection) keyRejections.set(keyRejection, (keyRejections.get(keyRejection) ?? 0) + 1);
      if (batch?.counts) for (const result of batchResults) batchCounts[result] += batch.counts[result];
    },
    /** Loads the code that `collectSample` needs. */
    load: metricsLibrary,
    /** Returns this process's metrics. @param checksReadiness passed on to `others` */
    collectSample: async (checksReadiness = true): Promise<MetricsSample> => [
      ...(await readSample(await registry())),
      ...requestFamilies(
        [...requestValues(counts), ...requestValues(sandboxCounts, sandboxLabel)],
        durations,
        keyRejections,
      ),
      counter(
        "storefront_batch_operations_total",
        "Batch operations by result. If an error rejects a whole batch, all its operations count as rejected.",
        batchResults.map((result) => [{ result }, batchCounts[result]]),
      ),
      ...(await others(checksReadiness)),
    ],
  };
}

async function createRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await metricsLibrary();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Remove gauges that are named like counters. The metrics without `_total` have the same values by type.
  for (const kind of ["handles", "requests", "resources"]) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  // To read these, the runtime would walk its whole heap, and all but one are 0.
  for (const part of ["total", "used", "available"])
    registry.removeSingleMetric(`nodejs_heap_space_size_${part}_bytes`);
  return registry;
}

/** Only requests with a sandbox key have this label, so that the series of live sites are the same with and without sandboxes. */
const sandboxLabel = { sandbox: "yes" };

function requestFamilies(
  requests: [labels: Record<string, string>, count: number][],
  durations: ReadonlyMap<string, Histogram>,
  keyRejections: ReadonlyMap<KeyRejection, number>,
): MetricFamily[] {
  return [
    counter(
      "storefront_http_requests_total",
      "Requests by route, method and status. The route is empty for unknown paths and unreadable requests. Requests with a sandbox key have a sandbox label.",
      requests,
    ),
    histogram(
      "storefront_http_request_duration_seconds",
      "Time from receiving a request's headers to its response, by operation.",
      [...durations].map(([operation, times]) => [{ operation }, times]),
      1000,
    ),
    counter(
      "storefront_key_refusals_total",
      "Requests with a rejected API key, by reason.",
      [...keyRejections].map(([reason, count]) => [{ reason }, count]),
    ),
  ];
}

/** @param labels more labels for each value */
function* requestValues(
  counts: Counts,
  labels: Record<string, string> = {},
): Generator<[Record<string, string>, number]> {
  for (const [route, methods] of counts) {
    for (const [method, { statuses }] of methods) {
      for (const [status, count] of Object.entries(statuses))
        yield [{ route: route?.label ?? "", method, status, ...labels }, count];
    }
  }
}

function countsOf(
  counts: Counts,
  durations: Map<string, Histogram>,
  route: Route | undefined,
  method: string,
): RequestCounts {
  let methods = counts.get(route);
  if (!methods) {
    methods = new Map();
    counts.set(route, methods);
  }
  let ofMethod = methods.get(method);
  if (!ofMethod) {
    const operation = operationOf(route, method);
    const times = durations.get(operation) ?? new Histogram(durationBounds);
    durations.set(operation, times);
    ofMethod = { statuses: [], durations: times };
    methods.set(method, ofMethod);
  }
  return ofMethod;
}

/** Returns the label in the duration histogram. */
function operationOf(route: Route | undefined, method: string): string {
  if (route?.readOperation === undefined || !route.methods.includes(method) || method === "OPTIONS") return "other";
  return method === "GET" || method === "HEAD" ? route.readOperation : (route.writeOperation ?? "write");
}
