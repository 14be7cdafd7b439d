// Long work in slices, so that it delays nobody for long: a generator yields wherever it may pause.

import type { MaybePromise } from "./maybe-promise.ts";

/** Work that can pause at each `yield`. A step between two of them should take well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds of work before the event loop turns: of work that has just begun, and of all that goes on together. */
const firstSliceTime = 2;
const turnTime = 4;
/** Milliseconds before work that goes on lets other such work have its turn. */
const taskTime = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const tasks: Task[] = [];

/**
 * Runs `steps` to their end: at once if that takes no more than a slice, else over several turns of the event loop, in which
 * other work gets its turn. Returns what `steps` return, as a promise only if it had to pause; throws what they throw.
 */
export function inSlices<T>(steps: Steps<T>): MaybePromise<T> {
  const last = firstSlice(steps);
  return last ? last.value : otherSlices(steps);
}

/** Runs the first slice of `steps`, of 2 ms or of so many milliseconds. Returns the result if that was all. */
export function firstSlice<T>(steps: Steps<T>, milliseconds = firstSliceTime): { value: T } | undefined {
  return runUntil(steps, performance.now() + milliseconds);
}

/** Runs `steps` to their end over several turns of the event loop. */
export function otherSlices<T>(steps: Steps<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    tasks.push({ steps, resolve: resolve as (value: unknown) => void, reject });
    if (tasks.length === 1) setImmediate(takeTurn);
  });
}

/** Goes on with the tasks in rotation. */
function takeTurn(): void {
  const end = performance.now() + turnTime;
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

/** Runs steps up to a time of `performance.now()`. Returns the result once there is one. */
function runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
  do {
    const step = steps.next();
    if (step.done) return { value: step.value };
  } while (performance.now() < end);
  return undefined;
}
