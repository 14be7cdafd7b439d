import type { Registry } from "prom-client";
import { once } from "./concurrency.ts";

export class Histogram {
  /** Upper bounds of the ranges, ascending. */
  readonly bounds: readonly number[];
  /** The number of values in each range: above the previous bound, at most its own bound. The last range has the values above all bounds. */
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

/** Bounds for durations in milliseconds. */
export const durationBounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500];

// Metric families from plain numbers. The program counts in plain numbers because a counter of prom-client takes a microsecond per request.

type Labels = MetricValue["labels"];

/** @param values the value of each combination of labels, or the only value */
export function counter(
  name: string,
  help: string,
  values: number | Iterable<readonly [Labels, number]>,
): MetricFamily {
  return { name, help, type: "counter", aggregator: "sum", values: toValues(values) };
}

/**
 * @param values as for `counter`
 * @param aggregator how the values of several processes are combined
 */
export function gauge(
  name: string,
  help: string,
  values: number | Iterable<readonly [Labels, number]>,
  aggregator = "sum",
): MetricFamily {
  return { name, help, type: "gauge", aggregator, values: toValues(values) };
}

/** @param divisor divides the bounds and the sum: 1000 for values in milliseconds and a metric in seconds */
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

// The metrics of one process at one moment, in the form of prom-client (`registry.getMetricsAsJSON()`), which combines the metrics of several
// processes in this form.

export interface MetricValue {
  /** Default: the name of the family. The parts of a histogram have their own names, such as `storefront_..._bucket`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** How the values of several processes are combined: `sum`, `min`, `max`, `average`, `first` or `omit`. */
  readonly aggregator: string;
  readonly values: readonly MetricValue[];
}

/** All metrics of a process at one moment. A sample can be sent to another process as JSON. */
export type MetricsSample = readonly MetricFamily[];

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Loads prom-client on demand, because loading it takes a third of the time that the program needs to start. */
export const metricsLibrary = once(() => import("prom-client"));

/** Reads the metrics of `registry`. The start time is aggregated by maximum; the library would omit it. */
export async function readSample(registry: Registry): Promise<MetricsSample> {
  // The library's types declare `type` as a number, but its value is a text.
  const sample = (await registry.getMetricsAsJSON()) as unknown as MetricsSample;
  return sample.map((family) => (family.aggregator === "omit" ? { ...family, aggregator: "max" } : family));
}

/**
 * Returns the text that Prometheus reads (text format 0.0.4). Values with the same name and labels are combined by the `aggregator` of their family,
 * usually added up.
 */
export async function toMetricsText(samples: readonly MetricsSample[]): Promise<string> {
  const { AggregatorRegistry } = await metricsLibrary();
  return AggregatorRegistry.aggregate(samples as unknown as object[]).metrics();
}

/**
 * Adds the counters and histograms of `sample` to `total`, and returns the result. Gauges of `sample` are left out, because a gauge, such as memory,
 * describes a process at one moment. The size of the result depends on the number of names and labels, not on the number of samples.
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
