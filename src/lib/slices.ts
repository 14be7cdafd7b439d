// Runs long computations in slices of at most two milliseconds, so that they share the ticks of the event loop.

import type { MaybePromise } from "./maybe-promise.ts";
import { tickBudgetMs } from "./tick-budgets.ts";

/** A task that can be interrupted at each `yield`. The time between two yields should be well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds that a task in progress runs before the next task in progress runs. */
const taskSliceMs = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class SliceScheduler {
  readonly #now: () => number;
  readonly #tasks: Task[] = [];
  /** Milliseconds that first slices may still take in this tick. The next tick begins with the full time. */
  #firstSlicesLeftMs: number = tickBudgetMs.firstSlices;
  /** New tasks that wait until first slices have time left, in the order of their calls. */
  readonly #waiting: (() => void)[] = [];

  /** @param now returns a time in milliseconds that never decreases */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Runs `steps` to their end. If first slices have time left in this tick, the first slice runs at once; further slices run in later ticks.
   * @returns the result of `steps`; a promise of it if they did not end in the first slice
   * @throws the error of `steps`
   */
  run<T>(steps: Steps<T>): MaybePromise<T> {
    const last = this.runFirst(steps);
    return last ? last.value : this.runOthers(steps);
  }

  /**
   * Runs the first slice of `steps`: at most `milliseconds`, and at most the time that first slices have left in this tick. If they have none left,
   * runs nothing. Returns the result of `steps` if they ended; otherwise undefined, and `runOthers` continues them.
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
   * Calls `start` when first slices have time left: at once, or in a later tick, in the order of the calls. Returns the result of `start`.
   * @param start gets whether it had to wait for a later tick
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

  /** Runs the rest of `steps` in later ticks. Resolves with their result, or rejects with their error. */
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

  /** Runs at least one step, and no step after `end`. Returns the result if `steps` ended; otherwise undefined. */
  #runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
    do {
      const step = steps.next();
      if (step.done) return { value: step.value };
    } while (this.#now() < end);
    return undefined;
  }
}

export const slices = new SliceScheduler(() => performance.now());
