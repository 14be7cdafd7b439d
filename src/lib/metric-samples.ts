// The metrics of one process at one moment, in the form of prom-client (`registry.getMetricsAsJSON()`), so that the metrics of several
// processes can be shown as one.

import type { Registry } from "prom-client";
import { once } from "./once.ts";

export interface MetricValue {
  /** The name of the metric by default; other names are those of the parts of a histogram. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
  /** How values of several processes become one: `sum`, `min`, `max`, `average`, `first` or `omit`. */
  readonly aggregator: string;
  readonly values: readonly MetricValue[];
}

/** All metrics of a process at one moment. It can be sent to another process as JSON. */
export type MetricsSample = readonly MetricFamily[];

/** The `Content-Type` of `toMetricsText`. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Loaded on demand: loading it would take a third of the start. */
export const metricsLibrary = once(() => import("prom-client"));

/** The metrics of `registry`. Of the times at which processes started, the last one counts: the library would leave it out. */
export async function sampleOf(registry: Registry): Promise<MetricsSample> {
  // In the library's types, `type` is a number. It is a text.
  const sample = (await registry.getMetricsAsJSON()) as unknown as MetricsSample;
  return sample.map((family) => (family.aggregator === "omit" ? { ...family, aggregator: "max" } : family));
}

/**
 * The text that Prometheus reads (text format 0.0.4). Values with the same name and labels are one: their sum, unless the metric names another
 * `aggregator`.
 */
export async function toMetricsText(samples: readonly MetricsSample[]): Promise<string> {
  const { AggregatorRegistry } = await metricsLibrary();
  return AggregatorRegistry.aggregate(samples as unknown as object[]).metrics();
}

/**
 * `total` with the counts of `sample` added: its counters and histograms, but not what a process has at one moment, such as its memory. The result is
 * as large as there are names and labels.
 */
export function withCountsOf(total: MetricsSample, sample: MetricsSample): MetricsSample {
  const families = new Map(total.map((family) => [family.name, family]));
  for (const family of sample.filter(({ type }) => type === "counter" || type === "histogram")) {
    const before = families.get(family.name)?.values ?? [];
    families.set(family.name, { ...family, values: addValues(before, family.values) });
  }
  return [...families.values()];
}

function addValues(before: readonly MetricValue[], added: readonly MetricValue[]): MetricValue[] {
  const sums = new Map<string, MetricValue>();
  for (const value of [...before, ...added]) {
    const key = JSON.stringify([value.metricName, value.labels]);
    sums.set(key, { ...value, value: (sums.get(key)?.value ?? 0) + value.value });
  }
  return [...sums.values()];
}
