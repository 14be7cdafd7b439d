// Fairness between connections: limits the time and the bytes that all connections together use in one tick of the event loop.
//
// Steps: a connection that needs more than one step waits in a queue. In each tick, the connections at its front run one step each, for 1 ms in
// all (`RoundRobin`). So a client that sends many requests at once does not block the others.
//
// Direct steps: usually a request, and a response that the handler has returned later, do not wait in that queue. Thousands of clients can connect at
// once, or wait for the same query or load of a site. So only some of these steps run directly in a tick, and fewer of clients that have had no
// response yet.
//
// First writes: the first part of a new response is written at once, without waiting in that queue. A thousand requests can arrive in one tick,
// so `takeWriteAllowance` limits the bytes of these writes.

import { drainMicrotasks } from "bun:jsc";
import { LinkedQueue, type QueueEntry } from "../lib/linked-queue.ts";
import { tickBudgetMs } from "../lib/tick-budgets.ts";

/** Maximum direct steps per tick. If each is short, the queue would cost more than it saves. */
const maxDirectSteps = 256;
/** Number of direct steps in a tick after which those of new clients wait. With a long response, each takes 60 µs. */
const maxStepsBeforeNewClient = 16;

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
  #directSteps = 0;

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

  /**
   * Returns whether a step may run directly, because there were few such steps in this tick. If not, it must wait in the queue.
   * @param isNewClient whether the client has had no response yet
   */
  takeDirectStep(isNewClient: boolean): boolean {
    if (this.#directSteps >= (isNewClient ? maxStepsBeforeNewClient : maxDirectSteps)) return false;
    if (this.#directSteps === 0) setImmediate(() => (this.#directSteps = 0));
    this.#directSteps++;
    return true;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.isEmpty) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + tickBudgetMs.connections;
    for (let entry = this.#waiting.first; entry; entry = this.#waiting.first) {
      this.#waiting.delete(entry);
      if (entry.member.runStep()) this.#waiting.add(entry);
      // Work of the handler after the step, such as the response to a timeout, counts as a part of it.
      drainMicrotasks();
      if (performance.now() >= end) break;
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
