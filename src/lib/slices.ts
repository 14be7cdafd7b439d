// Runs long work in slices, so that it delays no other client for long. The work is a generator that yields where it may pause.

import type { MaybePromise } from "./maybe-promise.ts";

/** Work that can pause at each `yield`. The time between two of them should be well below a millisecond. */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds before the event loop gets a turn: of new work, and of all work in progress together. */
const firstSliceTime = 2;
const turnTime = 2;
/** Milliseconds before work in progress gives way to other work in progress. */
const taskTime = 1;

interface Task {
  readonly steps: Steps<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const tasks: Task[] = [];

/**
 * Runs `steps` to their end: at once if they take at most one slice, otherwise over several turns of the event loop.
 * Returns their result, as a promise if they had to pause. @throws what `steps` throw
 */
export function inSlices<T>(steps: Steps<T>): MaybePromise<T> {
  const last = firstSlice(steps);
  return last ? last.value : otherSlices(steps);
}

/** Runs the first slice of `steps`, 2 ms by default. Returns their result if they ended. */
export function firstSlice<T>(steps: Steps<T>, milliseconds = firstSliceTime): { value: T } | undefined {
  return runUntil(steps, performance.now() + milliseconds);
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

/** Runs `steps` until `end`, a time of `performance.now()`. Returns their result if they ended. */
function runUntil<T>(steps: Steps<T>, end: number): { value: T } | undefined {
  do {
    const step = steps.next();
    if (step.done) return { value: step.value };
  } while (performance.now() < end);
  return undefined;
}
