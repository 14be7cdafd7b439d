// Keeps connections fair to each other by limiting how much time and how many bytes they may all use per event-loop tick.
//
// Steps: a connection that needs more than one waits in a queue. Each tick, those at the front run one step each, for 1 ms in all (`RoundRobin`). So a client
// that sends many requests at once doesn't block the others.
//
// Direct steps: a request usually skips that queue, and so does a response that the handler returns later. But thousands of clients can connect at once, or
// wait for the same query or the same site to load. So only some steps per tick are direct, and fewer of them go to clients that haven't had a response yet.
//
// First writes: a new response's first part also skips that queue. A thousand requests can arrive in one tick, so `takeWriteAllowance` limits these bytes.

import { drainMicrotasks } from "bun:jsc";
import { LinkedQueue, type QueueEntry } from "../lib/linked-queue.ts";
import { tickBudgetMs } from "../lib/tick-budgets.ts";

/** Per tick. When steps are short, queuing more of them costs more than it saves. */
const maxDirectSteps = 256;
/** After this many direct steps in a tick, new clients wait. With a long response, each step takes 60 µs. */
const maxStepsBeforeNewClient = 16;

export interface StepTask {
  /** Runs one short step. Returns whether there's another one to run now. */
  runStep(): boolean;
}

/**
 * Runs tasks in turn: each runs one step, then goes to the end of the queue. After 1 ms, the event loop reads sockets again, so other connections' input waits
 * about that long.
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
   * Returns whether a step may run directly, or must wait in the queue because this tick has had enough of them.
   * @param isNewClient whether the client hasn't had a response yet
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
      // What the handler does right after the step, such as responding to a timeout, counts as part of it.
      drainMicrotasks();
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }
}

/** For one response's first write. The kernel copies 4 MiB per millisecond. */
const maxResponseBytes = 512 * 1024;
/** For all first writes in one tick. Once they're used up, each response may still write `minResponseBytes`. */
const maxTickBytes = 2 * 1024 * 1024;
/** Every response may write this much right away, so small ones never wait for large ones. */
const minResponseBytes = 16 * 1024;

let remainingBytes = maxTickBytes;

/** Returns how many of a new response's `length` bytes may be written now, and deducts them from this tick's allowance. */
export function takeWriteAllowance(length: number): number {
  if (length <= minResponseBytes) return length;
  if (remainingBytes === maxTickBytes) setImmediate(() => (remainingBytes = maxTickBytes));
  const bytes = Math.min(length, maxResponseBytes, Math.max(remainingBytes, minResponseBytes));
  remainingBytes = Math.max(0, remainingBytes - bytes);
  return bytes;
}
