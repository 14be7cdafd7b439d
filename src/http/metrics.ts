import type { Registry } from "prom-client";
import type { Snapshots } from "../store/snapshots.ts";
import { once } from "./once.ts";
import type { Route } from "./routes.ts";

/** Bounds of the duration buckets, in milliseconds. */
const bounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 2500];

export interface Metrics {
  /** Counts an answer that took `milliseconds`. */
  count(route: Route | undefined, method: string, status: number, milliseconds: number): void;
  /** Loads what `text` needs. */
  load(): Promise<unknown>;
  /** What Prometheus reads (text format 0.0.4). */
  text(): Promise<string>;
}

/** How many answers there were, by route, method and status. */
type Answers = Map<Route | undefined, Map<string, number[]>>;

/**
 * The figures at `/metrics`. They are counted on every request, so in plain numbers: a library's counters cost a
 * microsecond, and are used for the rest.
 */
export function createMetrics(snapshots: Snapshots): Metrics {
  const answers: Answers = new Map();
  const buckets = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  const registry = once(() => createRegistry(answers, snapshots));
  return {
    count(route, method, status, milliseconds) {
      const tally = tallyOf(answers, route, method);
      tally[status] = (tally[status] ?? 0) + 1;
      let bucket = 0;
      while (bucket < bounds.length && milliseconds > (bounds[bucket] as number)) bucket++;
      buckets[bucket] = (buckets[bucket] as number) + 1;
      sum += milliseconds;
    },
    load: library,
    async text() {
      return (await (await registry()).metrics()) + histogram(buckets, sum);
    },
  };
}

/** The library is not loaded at the start: it would take a third of the time that the server needs for it. */
const library = once(() => import("prom-client"));

async function createRegistry(answers: Answers, snapshots: Snapshots): Promise<Registry> {
  const { Counter, collectDefaultMetrics, Gauge, Registry } = await library();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge("storefront_sites_in_memory", "Sites whose records are in memory.", () => snapshots.size.sites);
  gauge("storefront_snapshot_bytes", "About how many bytes the records in memory take.", () => snapshots.size.bytes);
  return registry;
}

/** The numbers of answers to `method` on `route`, by status. */
function tallyOf(answers: Answers, route: Route | undefined, method: string): number[] {
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
