// Shares the ticks of the event loop among tasks, so that no task delays other clients for long. There are three kinds of task:
//
//   `Steps`          A generator that can be interrupted at each `yield`, such as a list or a sort (`slices`).
//   Yielding task    An async function that yields to the event loop between its steps (`yieldToEventLoop`, `createYielder`).
//   `FairTask`       A short task that cannot be interrupted, in a `FairQueue` with one group per site.

import type { MaybePromise } from "./maybe-promise.ts";

/**
 * Maximum milliseconds per tick, for all tasks of a kind together. A request that arrives meanwhile waits for about their sum. A kind can exceed its
 * maximum by one step or one short task, because these are not interrupted.
 */
export const tickBudgetMs = {
  /** The first slices of new `Steps`. When it is used up, further new `Steps` start in later ticks. */
  firstSlices: 2,
  /** The further slices of `Steps`, in rotation, at most 1 ms each. */
  slices: 2,
  /** Yielding tasks. Only one of them runs per tick. */
  yielding: 2,
  /** The short tasks of all fair queues, at most 8 of each queue. */
  short: 2,
  /** The connections of one listener that have more than one step to do (wire/round-robin.ts). */
  connections: 1,
} as const;

/** A task that can be interrupted at each `yield`. The time between two yields should be well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds that a task in progress runs before the next task in progress runs. */
const taskSliceMs = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs `Steps` in slices. */
export class SliceScheduler {
  readonly #now: () => number;
  /** Tasks in progress. */
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
    if (this.#firstSlicesLeftMs === tickBudgetMs.firstSlices) setImmediate(() => this.#beginTick());
    const begin = this.#now();
    try {
      return this.#runUntil(steps, begin + Math.min(milliseconds, this.#firstSlicesLeftMs));
    } finally {
      this.#firstSlicesLeftMs -= this.#now() - begin;
    }
  }

  /**
   * Calls `begin` when first slices have time left: at once, or in a later tick, in the order of the calls. Returns the result of `begin`.
   * @param begin gets whether it had to wait for a later tick
   */
  whenFirstMayRun<T>(begin: (hasWaited: boolean) => MaybePromise<T>): MaybePromise<T> {
    if (this.#firstSlicesLeftMs > 0) return begin(false);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push(() => {
      try {
        resolve(begin(true));
      } catch (error) {
        reject(error);
      }
    });
    return promise;
  }

  #beginTick(): void {
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

  /** Runs the tasks in progress in rotation, until the time of this tick is used up. */
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

/** Runs the `Steps` of this process. */
export const slices = new SliceScheduler(() => performance.now());

// Lets long tasks yield to the event loop between steps. Only one task resumes per tick, so that many tasks block no longer than one.

const waiting: (() => void)[] = [];

/** Resolves in a later tick. No other caller of this function resumes in the same tick. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeNext);
}

/**
 * Returns a function to call between two steps of a long task. When the task has run for 2 ms, the function returns a promise that resolves in a
 * later tick; otherwise it returns undefined, and the task continues at once.
 */
export function createYielder(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < tickBudgetMs.yielding) return undefined;
    return yieldToEventLoop().then(() => {
      since = performance.now();
    });
  };
}

/** Yields `items` in order. Yields to the event loop between two items when their consumer has run for 2 ms. */
export async function* yieldBetween<T>(items: Iterable<T>): AsyncGenerator<T> {
  const yieldIfDue = createYielder();
  for (const item of items) {
    await yieldIfDue();
    yield item;
  }
}

// Runs many short tasks, a few per tick, so that together they delay nothing else for long. The groups of a queue are served in rotation, so that a
// group with many tasks does not delay the others.

export interface FairTask {
  /** Must not throw or reject. */
  run(): MaybePromise<void>;
}

/** Maximum tasks of one queue that start in one tick. A task may do more work later in the same tick, which is not measured. */
const maxTasksPerTick = 8;
/** Maximum running tasks per queue. When their I/O completes, all of them may resume in the same tick. */
const maxRunningTasks = 100;

/** Started tasks are removed from a group's array in chunks of this number, because removing one task moves all tasks after it. */
const compactThreshold = 1000;

interface Group {
  readonly works: FairTask[];
  /** The number of tasks at the beginning of `works` that were started. */
  begun: number;
}

/** Queues with tasks to start. In each tick, queues at the front start tasks, until the time of short tasks is used up. */
const dueQueues: FairQueue<unknown>[] = [];
let areQueuesScheduled = false;

function scheduleQueue(queue: FairQueue<unknown>): void {
  dueQueues.push(queue);
  if (!areQueuesScheduled) setImmediate(runDueQueues);
  areQueuesScheduled = true;
}

function runDueQueues(): void {
  const end = performance.now() + tickBudgetMs.short;
  for (let visits = dueQueues.length; visits > 0 && performance.now() < end; visits--)
    dueQueues.shift()?.startTasks(end);
  areQueuesScheduled = dueQueues.length > 0;
  if (areQueuesScheduled) setImmediate(runDueQueues);
}

export class FairQueue<Name> {
  /** The groups that have tasks to start, by name. */
  readonly #groups = new Map<Name, Group>();
  /** The names of the groups in rotation: this round, from the index `#roundIndex` on; then the next round (`#nextRound`). */
  #round: Name[] = [];
  #roundIndex = 0;
  #nextRound: Name[] = [];
  #unfinished = 0;
  #isScheduled = false;

  /** Adds a task at the end of the group `name`. It starts in a later tick. */
  add(name: Name, work: FairTask): void {
    const group = this.#groups.get(name);
    if (group) group.works.push(work);
    else {
      this.#groups.set(name, { works: [work], begun: 0 });
      this.#nextRound.push(name);
    }
    this.#schedule();
  }

  /** Runs `work` as a task of the group `name`. Resolves or rejects as `work` does. */
  run<T>(name: Name, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.add(name, { run: () => work().then(resolve, reject) });
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#groups.size === 0 || this.#unfinished >= maxRunningTasks) return;
    this.#isScheduled = true;
    scheduleQueue(this);
  }

  /** Starts at most 8 tasks, and no task after `end`, a time of `performance.now()`. Called when the queue is due. */
  startTasks(end: number): void {
    this.#isScheduled = false;
    for (let count = 0; count < maxTasksPerTick && this.#unfinished < maxRunningTasks; count++) {
      const work = this.#next();
      if (!work) return;
      this.#startTask(work);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }

  #startTask(work: FairTask): void {
    const running = work.run();
    if (!running) return;
    this.#unfinished++;
    void running.then(() => {
      this.#unfinished--;
      this.#schedule();
    });
  }

  #next(): FairTask | undefined {
    if (this.#groups.size === 0) return undefined;
    if (this.#roundIndex === this.#round.length) {
      this.#round = this.#nextRound;
      this.#nextRound = [];
      this.#roundIndex = 0;
    }
    const name = this.#round[this.#roundIndex++] as Name;
    const group = this.#groups.get(name) as Group;
    const work = group.works[group.begun++];
    if (group.begun >= compactThreshold) group.works.splice(0, group.begun);
    group.begun %= compactThreshold;
    if (group.begun < group.works.length) this.#nextRound.push(name);
    else this.#groups.delete(name);
    return work;
  }
}

/** Resolves in the next tick, after sockets were read. For long tasks, use `yieldToEventLoop`, which resumes one task per tick. */
export function nextImmediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
