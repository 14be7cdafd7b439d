// Shares the ticks of the event loop among tasks, so that no task delays other clients for long. There are three kinds of task:
//
//   `Steps`          A generator that can be interrupted at each `yield`, such as a list or a sort (`runInSlices`).
//   Yielding task    An async function that yields to the event loop between its steps (`yieldToEventLoop`, `createYielder`).
//   `FairTask`       A short task that cannot be interrupted, in a `FairQueue` with one group per site.
//
// Each kind has a maximum of milliseconds per tick. One step or one short task can exceed its maximum, because it is not interrupted.
//
//   The first slices of all new `Steps`, together: 2 ms.
//   The further slices of all `Steps`, together: 2 ms. They run in rotation, 1 ms each.
//   The yielding tasks: 2 ms. Only one of them runs per tick.
//   The short tasks of each `FairQueue`: 1 ms, and at most 8 tasks.
//   The connections of each listener that have more than one step to do: 1 ms (wire/round-robin.ts).

import type { MaybePromise } from "./maybe-promise.ts";

/** A task that can be interrupted at each `yield`. The time between two yields should be well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Maximum milliseconds per tick: of all new tasks together, and of all tasks in progress together. */
const newWorkMs = 2;
const maxSlicesMsPerTick = 2;
/** Milliseconds that a task in progress runs before the next task in progress runs. */
const taskSliceMs = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const tasks: Task[] = [];

/** Milliseconds that new tasks may still run in this tick. The next tick starts with the full time again. */
let newWorkLeftMs = newWorkMs;
/** New tasks that wait until new tasks have time left again, in the order of their calls. */
const newWork: (() => void)[] = [];

/**
 * Runs `steps` to their end. If new tasks have time left in this tick, the first slice runs at once; further slices run in later ticks.
 * @returns the result of `steps`; a promise of it if they did not end in the first slice
 * @throws the error of `steps`
 */
export function runInSlices<T>(steps: Steps<T>): MaybePromise<T> {
  const last = runFirstSlice(steps);
  return last ? last.value : runOtherSlices(steps);
}

/**
 * Runs the first slice of `steps`: at most `milliseconds`, and at most the time that new tasks have left in this tick. If they have none left, it
 * runs nothing. Returns the result of `steps` if they ended; otherwise undefined, and `runOtherSlices` continues them.
 */
export function runFirstSlice<T>(steps: Steps<T>, milliseconds = newWorkMs): { value: T } | undefined {
  if (newWorkLeftMs <= 0) return undefined;
  if (newWorkLeftMs === newWorkMs) setImmediate(beginTick);
  const begin = performance.now();
  try {
    return runUntil(steps, begin + Math.min(milliseconds, newWorkLeftMs));
  } finally {
    newWorkLeftMs -= performance.now() - begin;
  }
}

/**
 * Calls `begin` when new tasks have time left: at once, or in a later tick, in the order of the calls. Returns the result of `begin`.
 * @param begin gets whether it had to wait for a later tick
 */
export function whenNewWorkMayBegin<T>(begin: (hasWaited: boolean) => MaybePromise<T>): MaybePromise<T> {
  if (newWorkLeftMs > 0) return begin(false);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  newWork.push(() => {
    try {
      resolve(begin(true));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}

function beginTick(): void {
  newWorkLeftMs = newWorkMs;
  while (newWorkLeftMs > 0 && newWork.length > 0) newWork.shift()?.();
}

/** Runs the rest of `steps` in later ticks. Resolves with their result, or rejects with their error. */
export function runOtherSlices<T>(steps: Steps<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    tasks.push({ steps, resolve: resolve as (value: unknown) => void, reject });
    if (tasks.length === 1) setImmediate(runTasks);
  });
}

/** Runs the tasks in progress in rotation, until the time of this tick is used up. */
function runTasks(): void {
  const end = performance.now() + maxSlicesMsPerTick;
  for (let now = performance.now(); now < end && tasks.length > 0; now = performance.now()) {
    const task = tasks.shift() as Task;
    try {
      const last = runUntil(task.steps, Math.min(end, now + taskSliceMs));
      if (last) task.resolve(last.value);
      else tasks.push(task);
    } catch (error) {
      task.reject(error);
    }
  }
  if (tasks.length > 0) setImmediate(runTasks);
}

/** Runs at least one step, and no step after `end`, a time of `performance.now()`. Returns the result if `steps` ended; otherwise undefined. */
function runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
  do {
    const step = steps.next();
    if (step.done) return { value: step.value };
  } while (performance.now() < end);
  return undefined;
}

// Lets long tasks yield to the event loop between steps. Only one task resumes per tick, so that many tasks block no longer than one.

/** Milliseconds that a task runs before it yields. */
const maxBusyMs = 2;

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
    if (performance.now() - since < maxBusyMs) return undefined;
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

/**
 * Per tick and queue: the maximum number of tasks to start, and the milliseconds after which no further task starts. A task may do more work later in
 * the same tick, which is not measured.
 */
const maxTasksPerTick = 8;
const maxTasksMsPerTick = 1;
/** Maximum running tasks per queue. When their I/O completes, all of them may resume in the same tick. */
const maxRunningTasks = 100;

/** Started tasks are removed from a group's array in chunks of this number, because removing one task moves all tasks after it. */
const compactThreshold = 1000;

interface Group {
  readonly works: FairTask[];
  /** The number of tasks at the beginning of `works` that were started. */
  begun: number;
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
    setImmediate(() => this.#runSomeTasks());
  }

  #runSomeTasks(): void {
    this.#isScheduled = false;
    const end = performance.now() + maxTasksMsPerTick;
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
