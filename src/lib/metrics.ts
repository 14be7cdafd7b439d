import type { Registry } from "prom-client";
import { once } from "./concurrency.ts";

/** How many values lie in which range, in plain numbers. */
export class Histogram {
  /** Upper bounds of the ranges, ascending. */
  readonly bounds: readonly number[];
  /** How many values are in each range: above the bound before and up to its own, and at the end those above all bounds. */
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

// Metrics that are counted in plain numbers, as families of a sample. (A counter of the library takes a microsecond per request.)

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
 * @param aggregator how the values of several processes become one
 */
export function gauge(
  name: string,
  help: string,
  values: number | Iterable<readonly [Labels, number]>,
  aggregator = "sum",
): MetricFamily {
  return { name, help, type: "gauge", aggregator, values: toValues(values) };
}

/** @param divisor what the values are divided by: 1000 for milliseconds in a metric of seconds */
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

/** Cumulative buckets, the sum and the count. */
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

// The metrics of one process at one moment, in the form of prom-client (`registry.getMetricsAsJSON()`), so that the metrics of several
// processes can be shown as one.

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
