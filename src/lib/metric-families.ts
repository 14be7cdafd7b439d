// Metrics that are counted in plain numbers, as families of a sample. (A counter of the library takes a microsecond per request.)

import type { Histogram } from "./histogram.ts";
import type { MetricFamily, MetricValue } from "./metric-samples.ts";

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
