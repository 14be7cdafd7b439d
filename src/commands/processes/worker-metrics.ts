// Collects the workers' metrics, and adds what only the main process knows.

import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import { readyFamily } from "../../http/server-metrics.ts";
import { addCounts, counter, gauge, type MetricFamily, type MetricsSample } from "../../lib/metrics.ts";
import type { Child } from "./child.ts";

/** Counters never go back, because the counts of workers that have exited are kept. */
export class WorkerMetrics {
  readonly #expected: number;
  readonly #workers = new Set<Child>();
  readonly #restarts: () => number;
  /** What workers that have exited had counted. */
  #ended: MetricsSample = [];

  /**
   * @param expected `--workers`
   * @param restarts how many processes exited unexpectedly and were restarted
   */
  constructor(expected: number, restarts: () => number) {
    this.#expected = expected;
    this.#restarts = restarts;
  }

  add(worker: Child): void {
    this.#workers.add(worker);
    void worker.exited.then(() => {
      this.#workers.delete(worker);
      this.#ended = addCounts(this.#ended, worker.lastSample);
    });
  }

  /** Asks all workers. An answer is undefined if the worker doesn't respond within a second. */
  ask(question: ActivityQuestion): Promise<readonly ActivityAnswer[]> {
    return Promise.all([...this.#workers].map((worker) => worker.ask(question)));
  }

  /**
   * Samples every worker and this process. If a worker doesn't respond within a second, uses the last sample it sent.
   * @param checksReadiness whether the workers should also check if they're ready
   */
  async collect(checksReadiness: boolean): Promise<readonly MetricsSample[]> {
    const workers = [...this.#workers];
    const responses = await Promise.all(workers.map((worker) => worker.refreshSample(checksReadiness)));
    const responding = responses.filter((hasResponded) => hasResponded).length;
    const own = processFamilies({ responding, expected: this.#expected, restarts: this.#restarts() });
    return [...[...this.#workers].map(({ lastSample }) => lastSample), this.#ended, own];
  }
}

interface WorkerCounts {
  readonly responding: number;
  /** `--workers`. */
  readonly expected: number;
  /** Since the server started. */
  readonly restarts: number;
}

/** When this process started, in seconds since 1970. */
const startedAt = Math.floor(Date.now() / 1000 - process.uptime());

/** If no worker responds, these say that the server isn't ready. */
export function processFamilies({ responding, expected, restarts }: WorkerCounts): MetricFamily[] {
  return [
    gauge("storefront_workers", "Workers that serve the public port and respond to the main process.", responding),
    gauge("storefront_workers_expected", "Workers that should be running, as set with `--workers`.", expected),
    counter(
      "storefront_restarts_total",
      "Processes of this server that exited unexpectedly and were restarted.",
      restarts,
    ),
    gauge("storefront_start_time_seconds", "When this server's main process started.", startedAt, "max"),
    ...(responding === 0 ? [readyFamily(false)] : []),
  ];
}
