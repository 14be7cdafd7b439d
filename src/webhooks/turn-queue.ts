// Which webhook has the next turn. Webhooks whose last attempt failed get half of the turns at most, so that receivers that do not respond
// delay no others.

/** Deliveries at once (contract section 12), and how many of them may be retries. */
const maxRunning = 64;
const maxRetries = maxRunning / 2;

type Queue = "first" | "retry";

export class TurnQueue {
  readonly #queues: Record<Queue, Set<number>> = { first: new Set(), retry: new Set() };
  readonly #running = new Map<number, Queue>();
  /** Those that were added again during their turn. */
  readonly #again = new Set<number>();
  readonly #start: (webhook: number) => void;
  #isEnded = false;

  /** @param start takes a turn, and calls `done` at its end */
  constructor(start: (webhook: number) => void) {
    this.#start = start;
  }

  /** Gives the webhook a turn after those that wait. If it has one at the moment, `done` says that it was added again. */
  add(webhook: number, isRetry: boolean): void {
    const queue = isRetry ? "retry" : "first";
    if (this.#running.has(webhook)) return void this.#again.add(webhook);
    this.#queues[isRetry ? "first" : "retry"].delete(webhook);
    this.#queues[queue].add(webhook);
    this.#fill();
  }

  /** The turn of the webhook has ended. Returns whether it was added during that turn. */
  done(webhook: number): boolean {
    this.#running.delete(webhook);
    this.#fill();
    return this.#again.delete(webhook);
  }

  /** No turn starts any more. */
  end(): void {
    this.#isEnded = true;
  }

  #fill(): void {
    while (!this.#isEnded && this.#running.size < maxRunning) {
      const queue = this.#nextQueue();
      if (!queue) return;
      const [webhook] = this.#queues[queue] as Set<number> & [number];
      this.#queues[queue].delete(webhook as number);
      this.#running.set(webhook as number, queue);
      this.#start(webhook as number);
    }
  }

  #nextQueue(): Queue | undefined {
    const retries = [...this.#running.values()].filter((queue) => queue === "retry").length;
    if (this.#queues.retry.size > 0 && retries < maxRetries) return "retry";
    return this.#queues.first.size > 0 ? "first" : undefined;
  }
}
