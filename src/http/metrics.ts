import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Snapshots } from "../store/snapshots.ts";
import type { Route } from "./routes.ts";

/** Bounds of the duration buckets, in milliseconds. */
const bounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500];

export interface Metrics {
  /** Counts an answer that took `milliseconds`. */
  count(route: Route | undefined, method: string, status: number, milliseconds: number): void;
  /** What Prometheus reads (text format 0.0.4). */
  text(): Promise<string>;
  readonly contentType: string;
}

/**
 * The figures at `/metrics`. They are counted on every request, so in plain numbers: a library's counters cost a
 * microsecond, and are used for the rest.
 */
export function createMetrics(snapshots: Snapshots): Metrics {
  const registry = new Registry();
  const answers = new Map<Route | undefined, Map<string, number[]>>();
  const buckets = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  collectDefaultMetrics({ register: registry });
  registerAnswers(registry, answers);
  registerSnapshots(registry, snapshots);
  return {
    count(route, method, status, milliseconds) {
      const tally = tallyOf(answers, route, method);
      tally[status] = (tally[status] ?? 0) + 1;
      let bucket = 0;
      while (bucket < bounds.length && milliseconds > (bounds[bucket] as number)) bucket++;
      buckets[bucket] = (buckets[bucket] as number) + 1;
      sum += milliseconds;
    },
    text: async () => (await registry.metrics()) + histogram(buckets, sum),
    contentType: registry.contentType,
  };
}

/** The numbers of answers to `method` on `route`, by status. */
function tallyOf(
  answers: Map<Route | undefined, Map<string, number[]>>,
  route: Route | undefined,
  method: string,
): number[] {
  let ofRoute = answers.get(route);
  if (!ofRoute) {
    ofRoute = new Map();
    answers.set(route, ofRoute);
  }
  let tally = ofRoute.get(method);
  if (!tally) {
    tally = [];
    ofRoute.set(method, tally);
  }
  return tally;
}

function registerAnswers(registry: Registry, answers: Map<Route | undefined, Map<string, number[]>>): void {
  new Counter({
    name: "storefront_answers_total",
    help: "Answers by resource, format, method and status.",
    labelNames: ["resource", "format", "method", "status"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [route, methods] of answers) {
        const labels = { resource: route?.resource.path ?? "", format: route?.format.name ?? "" };
        for (const [method, tally] of methods) {
          tally.forEach((count, status) => void this.inc({ ...labels, method, status: String(status) }, count));
        }
      }
    },
  });
}

/** Prometheus's exposition of a histogram: cumulative buckets in seconds. */
function histogram(buckets: readonly number[], sum: number): string {
  const name = "storefront_answer_seconds";
  let total = 0;
  const lines = buckets.map((count, index) => {
    total += count;
    const bound = bounds[index];
    return `${name}_bucket{le="${bound === undefined ? "+Inf" : bound / 1000}"} ${total}`;
  });
  const header = [`# HELP ${name} Time from a request to its answer.`, `# TYPE ${name} histogram`];
  return `${[...header, ...lines, `${name}_sum ${sum / 1000}`, `${name}_count ${total}`].join("\n")}\n`;
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
