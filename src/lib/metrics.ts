import type { Registry } from "prom-client";
import { once } from "./concurrency.ts";

export class Histogram {
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** How many values are above the previous bound and at most this one. The last count has those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] as number)) index++;
    this.counts[index] = (this.counts[index] as number) + 1;
    this.sum += value;
  }
}

/** For durations in milliseconds. */
export const durationBounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500];

// Makes metric families from plain numbers. We count in plain numbers, because a prom-client counter takes a microsecond per request.

type Labels = MetricValue["labels"];

/** @param values a value for each combination of labels, or a single value */
export function counter(
  name: string,
  help: string,
  values: number | Iterable<readonly [Labels, number]>,
): MetricFamily {
  return { name, help, type: "counter", aggregator: "sum", values: toValues(values) };
}

/**
 * @param values as for `counter`
 * @param aggregator how to combine several processes' values
 */
export function gauge(
  name: string,
  help: string,
  values: number | Iterable<readonly [Labels, number]>,
  aggregator = "sum",
): MetricFamily {
  return { name, help, type: "gauge", aggregator, values: toValues(values) };
}

/** @param divisor for bounds and sum: 1000 turns milliseconds into seconds */
export function histogram(
  name: string,
  help: string,
  histograms: Iterable<readonly [Labels, Histogram]>,
  divisor = 1,
): MetricFamily {
  const values = [...histograms].flatMap(([labels, one]) => histogramValues(name, labels, one, divisor));
  return { name, help, type: "histogram", aggregator: "sum", values };
}

function toValues(values: number | Iterable<readonly [Labels, number]>): MetricValue[] {
  if (typeof values === "number") return [{ labels: {}, value: values }];
  return [...values].map(([labels, value]) => ({ labels, value }));
}

function histogramValues(
  name: string,
  labels: Labels,
  { bounds, counts, sum }: Histogram,
  divisor: number,
): MetricValue[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const bound = bounds[index];
    const le = bound === undefined ? "+Inf" : bound / divisor;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  const rest = [
    { metricName: `${name}_sum`, labels, value: sum / divisor },
    { metricName: `${name}_count`, labels, value: total },
  ];
  return [...buckets, ...rest];
}

// One process's metrics at one moment, in the form of `registry.getMetricsAsJSON()`, because prom-client can combine several processes' metrics in it.

export interface MetricValue {
  /** Default: the family's name. A histogram's parts have their own, such as `storefront_..._bucket`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** How to combine several processes' values: `sum`, `min`, `max`, `average`, `first` or `omit`. */
  readonly aggregator: string;
  readonly values: readonly MetricValue[];
}

/** Can be sent to another process as JSON. */
export type MetricsSample = readonly MetricFamily[];

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Loaded on demand, because it would take up a third of the startup time. */
export const metricsLibrary = once(() => import("prom-client"));

/** Aggregates the start time by maximum; the library would omit it. */
export async function readSample(registry: Registry): Promise<MetricsSample> {
  // The library's types declare `type` as a number, but it's a string.
  const sample = (await registry.getMetricsAsJSON()) as unknown as MetricsSample;
  return sample.map((family) => (family.aggregator === "omit" ? { ...family, aggregator: "max" } : family));
}

/**
 * Returns what Prometheus reads (text format 0.0.4). Values with the same name and labels are combined by their family's `aggregator`, which usually adds
 * them up.
 */
export async function toMetricsText(samples: readonly MetricsSample[]): Promise<string> {
  const { AggregatorRegistry } = await metricsLibrary();
  return AggregatorRegistry.aggregate(samples as unknown as object[]).metrics();
}

/**
 * Returns `total` plus the counters and histograms of `sample`. Its gauges are left out, because a gauge, such as memory, describes a process at one moment.
 * The result grows with the number of names and labels, not with the number of samples.
 */
export function addCounts(total: MetricsSample, sample: MetricsSample): MetricsSample {
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
