// Fairness between connections: limits the time and the bytes that all connections together use in one tick of the event loop.
//
// Steps: a connection that needs more than one step waits in a queue. In each tick, the connections at its front run one step each, for 1 ms in
// all (`RoundRobin`). So a client that sends many requests at once does not block the others. The first request of a new connection waits in the
// queue too, after 16 such requests in a tick: thousands of clients can connect at once.
//
// First writes: the first part of a new response is written at once, without waiting in that queue. A thousand requests can arrive in one tick,
// so `takeWriteAllowance` limits the bytes of these writes.

import { LinkedQueue, type QueueEntry } from "../lib/linked-queue.ts";
import { tickBudgetMs } from "../lib/tick-budgets.ts";

/** Maximum number of first requests that run at once in a tick. A request takes about 50 µs if its response is long. */
const maxFirstRequests = 16;

/** A task that runs in steps. */
export interface StepTask {
  /** Runs one short step. Returns whether there is another step to run now. */
  runStep(): boolean;
}

/**
 * Runs tasks in rotation: each runs one step, and then goes to the end of the queue. After 1 ms of steps, the event loop reads sockets again,
 * so input of other connections waits for about that long.
 */
export class RoundRobin {
  readonly #waiting = new LinkedQueue<StepTask>();
  #isScheduled = false;
  /** When the steps of this tick end, in milliseconds of `performance.now`. */
  #end = 0;
  /** The number of first requests that have run at once in this tick. */
  #firstRequests = 0;

  has(entry: QueueEntry<StepTask>): boolean {
    return this.#waiting.has(entry);
  }

  add(entry: QueueEntry<StepTask>): void {
    this.#waiting.add(entry);
    this.#schedule();
  }

  delete(entry: QueueEntry<StepTask>): void {
    this.#waiting.delete(entry);
  }

  /** Returns whether the first request of a connection may run at once. If not, it must wait in the queue. */
  takeFirstRequest(): boolean {
    if (!this.#waiting.isEmpty || this.#firstRequests === maxFirstRequests) return false;
    if (this.#firstRequests === 0) setImmediate(() => (this.#firstRequests = 0));
    this.#firstRequests++;
    return true;
  }

  /** Counts work that the step causes, but that runs after it, as `milliseconds` of the steps of this tick. */
  charge(milliseconds: number): void {
    this.#end -= milliseconds;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.isEmpty) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    this.#end = performance.now() + tickBudgetMs.connections;
    for (let entry = this.#waiting.first; entry; entry = this.#waiting.first) {
      this.#waiting.delete(entry);
      if (entry.member.runStep()) this.#waiting.add(entry);
      if (performance.now() >= this.#end) break;
    }
    this.#schedule();
  }
}

// Limits the bytes that new responses write in one event-loop tick, all together. A thousand requests can arrive in one tick, and each is
// answered at once. The rest of a response is written in later steps of its connection.

/** Maximum bytes of the first write of one response. The kernel copies 4 MiB in a millisecond. */
const maxResponseBytes = 512 * 1024;
/** Maximum bytes of the first writes of all responses in one tick. When they are used up, each response may still write `minResponseBytes`. */
const maxTickBytes = 2 * 1024 * 1024;
/** Bytes that every response may write at once, so that small responses never wait for large ones. */
const minResponseBytes = 16 * 1024;

let remainingBytes = maxTickBytes;

/** Returns how many of the `length` bytes of a new response may be written now, and subtracts them from the allowance of this tick. */
export function takeWriteAllowance(length: number): number {
  if (length <= minResponseBytes) return length;
  if (remainingBytes === maxTickBytes) setImmediate(() => (remainingBytes = maxTickBytes));
  const bytes = Math.min(length, maxResponseBytes, Math.max(remainingBytes, minResponseBytes));
  remainingBytes = Math.max(0, remainingBytes - bytes);
  return bytes;
}
