// Lets long tasks yield to the event loop between steps. Only one task resumes per tick, so that many tasks block no longer than one.

import { tickBudgetMs } from "./tick-budgets.ts";

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

/**
 * Calls `read` with at most `size` of the values at a time. Returns all results, in order. Yields to the event loop after each call, because a read can be
 * synchronous: then awaiting it does not yield.
 */
export async function readInChunks<T, R>(
  values: readonly T[],
  size: number,
  read: (chunk: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[] = [];
  for (const chunk of chunksOf(values, size)) {
    found.push(...(await read(chunk)));
    await yieldToEventLoop();
  }
  return found;
}

/** Yields the values in chunks of `size`; the last chunk can be smaller. */
export function* chunksOf<T>(values: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size);
}

/** Resolves in the next tick, after sockets were read. For long tasks, use `yieldToEventLoop`, which resumes one task per tick. */
export function nextImmediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
