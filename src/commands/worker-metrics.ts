import { type MetricsSample, withCountsOf } from "../lib/metric-samples.ts";
import type { Child } from "./child.ts";
import { processFamilies } from "./process-families.ts";

/** The metrics of all workers together. Counts never go back: those of a worker that has ended are kept. */
export class WorkerMetrics {
  readonly #expected: number;
  readonly #workers = new Set<Child>();
  readonly #restarts: () => number;
  /** The counts of all workers that have ended. */
  #ended: MetricsSample = [];

  /**
   * @param expected `--workers`
   * @param restarts how many processes ended by themselves and were replaced
   */
  constructor(expected: number, restarts: () => number) {
    this.#expected = expected;
    this.#restarts = restarts;
  }

  add(worker: Child): void {
    this.#workers.add(worker);
    void worker.exited.then(() => {
      this.#workers.delete(worker);
      this.#ended = withCountsOf(this.#ended, worker.lastSample);
    });
  }

  /**
   * A sample of each worker, and of this process. One that does not respond within a second has the sample that it sent last.
   * @param isChecked whether the workers find out if they are ready
   */
  async collect(isChecked: boolean): Promise<readonly MetricsSample[]> {
    const workers = [...this.#workers];
    const responses = await Promise.all(workers.map((worker) => worker.refreshSample(isChecked)));
    const responding = responses.filter((hasResponded) => hasResponded).length;
    const own = processFamilies({ responding, expected: this.#expected, restarts: this.#restarts() });
    return [...[...this.#workers].map(({ lastSample }) => lastSample), this.#ended, own];
  }
}
