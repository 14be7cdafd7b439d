// Runs long computations in slices of at most two milliseconds, so that they share the event loop's ticks.

import type { MaybePromise } from "./maybe-promise.ts";
import { tickBudgetMs } from "./tick-budgets.ts";

/** A task that can pause at each `yield`. Yield well within a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** How long a task in progress runs before it's the next one's turn. */
const taskSliceMs = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class SliceScheduler {
  readonly #now: () => number;
  readonly #tasks: Task[] = [];
  /** Time left for first slices in this tick. The next tick starts with the full budget. */
  #firstSlicesLeftMs: number = tickBudgetMs.firstSlices;
  /** New tasks waiting until there's time for first slices, in the order they were called. */
  readonly #waiting: (() => void)[] = [];

  /** @param now returns milliseconds that never decrease */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Runs `steps` to the end. The first slice runs right away if this tick has time left for first slices; the others run in later ticks.
   * @returns the result of `steps`, or a promise of it if they didn't finish in the first slice
   * @throws the error of `steps`
   */
  run<T>(steps: Steps<T>): MaybePromise<T> {
    const last = this.runFirst(steps);
    return last ? last.value : this.runOthers(steps);
  }

  /**
   * Runs the first slice of `steps`, for at most `milliseconds` and at most the time this tick has left for first slices, which may be none. Returns their
   * result if they finished; otherwise undefined, and `runOthers` continues them.
   */
  runFirst<T>(steps: Steps<T>, milliseconds: number = tickBudgetMs.firstSlices): { value: T } | undefined {
    if (this.#firstSlicesLeftMs <= 0) return undefined;
    if (this.#firstSlicesLeftMs === tickBudgetMs.firstSlices) setImmediate(() => this.#startTick());
    const startedAt = this.#now();
    try {
      return this.#runUntil(steps, startedAt + Math.min(milliseconds, this.#firstSlicesLeftMs));
    } finally {
      this.#firstSlicesLeftMs -= this.#now() - startedAt;
    }
  }

  /**
   * Calls `start` once there's time for first slices: right away, or in a later tick, first come, first served.
   * @param start is told whether it had to wait for a later tick
   */
  whenFirstMayRun<T>(start: (hasWaited: boolean) => MaybePromise<T>): MaybePromise<T> {
    if (this.#firstSlicesLeftMs > 0) return start(false);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push(() => {
      try {
        resolve(start(true));
      } catch (error) {
        reject(error);
      }
    });
    return promise;
  }

  #startTick(): void {
    this.#firstSlicesLeftMs = tickBudgetMs.firstSlices;
    while (this.#firstSlicesLeftMs > 0 && this.#waiting.length > 0) this.#waiting.shift()?.();
  }

  /** Runs the rest of `steps` in later ticks. */
  runOthers<T>(steps: Steps<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#tasks.push({ steps, resolve: resolve as (value: unknown) => void, reject });
      if (this.#tasks.length === 1) setImmediate(() => this.#runTasks());
    });
  }

  #runTasks(): void {
    const end = this.#now() + tickBudgetMs.slices;
    for (let now = this.#now(); now < end && this.#tasks.length > 0; now = this.#now()) {
      const task = this.#tasks.shift() as Task;
      try {
        const last = this.#runUntil(task.steps, Math.min(end, now + taskSliceMs));
        if (last) task.resolve(last.value);
        else this.#tasks.push(task);
      } catch (error) {
        task.reject(error);
      }
    }
    if (this.#tasks.length > 0) setImmediate(() => this.#runTasks());
  }

  /** Runs at least one step, and starts none after `end`. Returns undefined unless `steps` finished. */
  #runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
    do {
      const step = steps.next();
      if (step.done) return { value: step.value };
    } while (this.#now() < end);
    return undefined;
  }
}

export const slices = new SliceScheduler(() => performance.now());
