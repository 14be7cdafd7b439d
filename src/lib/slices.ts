// Runs long work in slices, so that it delays no other client for long. The work is a generator that yields where it may pause.

import type { MaybePromise } from "./maybe-promise.ts";

/** Work that can pause at each `yield`. The time between two of them should be well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds before the event loop gets a turn: of all new work together, and of all work in progress together. */
const newWorkTime = 2;
const maxSlicesMsPerTick = 2;
/** Milliseconds before work in progress gives way to other work in progress. */
const taskTime = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const tasks: Task[] = [];

/** What is left of `newWorkTime` in this turn of the event loop. The next turn begins with all of it again. */
let newWorkLeft = newWorkTime;
/** New work that waits for a turn in which new work has time left, in order. */
const newWork: (() => void)[] = [];

/**
 * Runs `steps` to their end: at once if they take at most one slice and new work still has time in this turn, otherwise over several turns
 * of the event loop. Returns their result, as a promise if they had to pause. @throws what `steps` throw
 */
export function inSlices<T>(steps: Steps<T>): MaybePromise<T> {
  const last = firstSlice(steps);
  return last ? last.value : otherSlices(steps);
}

/**
 * Runs the first slice of `steps`: at most `milliseconds`, and at most what other new work has left of this turn. Without anything left, it runs
 * nothing. Returns their result if they ended.
 */
export function firstSlice<T>(steps: Steps<T>, milliseconds = newWorkTime): { value: T } | undefined {
  if (newWorkLeft <= 0) return undefined;
  if (newWorkLeft === newWorkTime) setImmediate(beginTurn);
  const begin = performance.now();
  try {
    return runUntil(steps, begin + Math.min(milliseconds, newWorkLeft));
  } finally {
    newWorkLeft -= performance.now() - begin;
  }
}

/**
 * Calls `begin` when new work has time left: at once, or in a later turn of the event loop, in the order of the calls.
 * @param begin told whether it had to wait
 */
export function whenNewWorkMayBegin<T>(begin: (hasWaited: boolean) => MaybePromise<T>): MaybePromise<T> {
  if (newWorkLeft > 0) return begin(false);
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

function beginTurn(): void {
  newWorkLeft = newWorkTime;
  while (newWorkLeft > 0 && newWork.length > 0) newWork.shift()?.();
}

/** Runs the rest of `steps` over several turns of the event loop. */
export function otherSlices<T>(steps: Steps<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    tasks.push({ steps, resolve: resolve as (value: unknown) => void, reject });
    if (tasks.length === 1) setImmediate(takeTurn);
  });
}

/** Continues the tasks in rotation. */
function takeTurn(): void {
  const end = performance.now() + maxSlicesMsPerTick;
  for (let now = performance.now(); now < end && tasks.length > 0; now = performance.now()) {
    const task = tasks.shift() as Task;
    try {
      const last = runUntil(task.steps, Math.min(end, now + taskTime));
      if (last) task.resolve(last.value);
      else tasks.push(task);
    } catch (error) {
      task.reject(error);
    }
  }
  if (tasks.length > 0) setImmediate(takeTurn);
}

/** Runs `steps` until `end`, a time of `performance.now()`. Returns their result if they ended. */
function runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
  do {
    const step = steps.next();
    if (step.done) return { value: step.value };
  } while (performance.now() < end);
  return undefined;
}
