// The metrics of a server of several processes: samples of its workers, and what only the main process knows.

import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import { readyFamily } from "../../http/server-metrics.ts";
import { addCounts, counter, gauge, type MetricFamily, type MetricsSample } from "../../lib/metrics.ts";
import type { Child } from "./child.ts";

/** The metrics of all workers together. Counts never decrease, because the counts of workers that have exited are kept. */
export class WorkerMetrics {
  readonly #expected: number;
  readonly #workers = new Set<Child>();
  readonly #restarts: () => number;
  /** The counts of all workers that have exited. */
  #ended: MetricsSample = [];

  /**
   * @param expected `--workers`
   * @param restarts returns the number of processes that exited unexpectedly and were restarted
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

  /** Asks all workers about the activity of a site. The answer of a worker that does not respond within a second is undefined. */
  ask(question: ActivityQuestion): Promise<readonly ActivityAnswer[]> {
    return Promise.all([...this.#workers].map((worker) => worker.ask(question)));
  }

  /**
   * Returns a sample of each worker, and of this process. For a worker that does not respond within a second, returns the sample that it sent last.
   * @param checksReadiness whether the workers also check if they are ready
   */
  async collect(checksReadiness: boolean): Promise<readonly MetricsSample[]> {
    const workers = [...this.#workers];
    const responses = await Promise.all(workers.map((worker) => worker.refreshSample(checksReadiness)));
    const responding = responses.filter((hasResponded) => hasResponded).length;
    const own = processFamilies({ responding, expected: this.#expected, restarts: this.#restarts() });
    return [...[...this.#workers].map(({ lastSample }) => lastSample), this.#ended, own];
  }
}

/** Numbers of processes, as the main process of a server knows them. */
interface WorkerCounts {
  /** Workers that respond. */
  readonly responding: number;
  /** `--workers`. */
  readonly expected: number;
  /** Processes that exited unexpectedly and were restarted, since the server was started. */
  readonly restarts: number;
}

/** Time at which this process was started, in seconds since 1970. */
const startedAt = Math.floor(Date.now() / 1000 - process.uptime());

/** Returns the metrics that only the main process knows. If no worker responds, they include that the server is not ready. */
export function processFamilies({ responding, expected, restarts }: WorkerCounts): MetricFamily[] {
  return [
    gauge("storefront_workers", "Processes that serve the public port and respond to the main process.", responding),
    gauge("storefront_workers_expected", "Processes that should serve the public port, `--workers`.", expected),
    counter(
      "storefront_restarts_total",
      "Processes of this server that ended by themselves and were replaced.",
      restarts,
    ),
    gauge("storefront_start_time_seconds", "When the main process of this server was started.", startedAt, "max"),
    ...(responding === 0 ? [readyFamily(false)] : []),
  ];
}
