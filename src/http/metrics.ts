import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Snapshots } from "../store/snapshots.ts";

/** Bounds of the duration buckets, in seconds. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5];

export interface Metrics {
  /** Counts an answer. @param seconds from the request's first line to its answer */
  count(resource: string, method: string, status: number, seconds: number): void;
  /** What Prometheus reads (text format 0.0.4). */
  text(): Promise<string>;
  readonly contentType: string;
}

/** The figures at `/metrics`. Counting must be cheap, so answers are tallied in plain numbers until somebody looks. */
export function createMetrics(snapshots: Snapshots): Metrics {
  const registry = new Registry();
  const tallies = new Map<string, { labels: Record<string, string>; answers: number }>();
  const durations = new Histogram({
    name: "storefront_answer_seconds",
    help: "Time from a request to its answer.",
    buckets: bounds,
    registers: [registry],
  });
  collectDefaultMetrics({ register: registry });
  registerAnswers(registry, tallies);
  registerSnapshots(registry, snapshots);
  return {
    count(resource, method, status, seconds) {
      const name = `${resource} ${method} ${status}`;
      const tally = tallies.get(name);
      if (tally) tally.answers++;
      else tallies.set(name, { labels: { resource, method, status: String(status) }, answers: 1 });
      durations.observe(seconds);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function registerAnswers(
  registry: Registry,
  tallies: Map<string, { labels: Record<string, string>; answers: number }>,
) {
  new Counter({
    name: "storefront_answers_total",
    help: "Answers by resource, method and status.",
    labelNames: ["resource", "method", "status"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, answers } of tallies.values()) this.inc(labels, answers);
    },
  });
}

function registerSnapshots(registry: Registry, snapshots: Snapshots): void {
  new Gauge({
    name: "storefront_sites_in_memory",
    help: "Sites whose records are in memory.",
    registers: [registry],
    collect() {
      this.set(snapshots.size.sites);
    },
  });
  new Gauge({
    name: "storefront_snapshot_bytes",
    help: "About how many bytes the records in memory take.",
    registers: [registry],
    collect() {
      this.set(snapshots.size.bytes);
    },
  });
}
