import { type MetricsSample, withCountsOf } from "../lib/metric-samples.ts";
import type { Child } from "./child.ts";

/** The metrics of all workers together. Counts never go back: those of a worker that has ended are kept. */
export class WorkerMetrics {
  readonly #workers = new Set<Child>();
  /** The counts of all workers that have ended. */
  #ended: MetricsSample = [];

  add(worker: Child): void {
    this.#workers.add(worker);
    void worker.exited.then(() => {
      this.#workers.delete(worker);
      this.#ended = withCountsOf(this.#ended, worker.lastSample);
    });
  }

  /** A sample of each worker. One that does not respond within a second has the sample that it sent last. */
  async collect(): Promise<readonly MetricsSample[]> {
    await Promise.all([...this.#workers].map((worker) => worker.refreshSample()));
    return [...[...this.#workers].map(({ lastSample }) => lastSample), this.#ended];
  }
}
