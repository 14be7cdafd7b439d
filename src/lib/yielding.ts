// Lets long tasks yield to the event loop between steps. Only one resumes per tick, so many tasks block no longer than one.

import { tickBudgetMs } from "./tick-budgets.ts";

const waiting: (() => void)[] = [];

/** Resolves in a later tick, which no other caller gets. */
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
 * Returns a function to call between steps of a long task. Once the task has run for 2 ms, it returns a promise to await; otherwise undefined, and the task
 * goes on.
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

/** Iterates over `items`, yielding to the event loop whenever their consumer has run for 2 ms. */
export async function* yieldBetween<T>(items: Iterable<T>): AsyncGenerator<T> {
  const yieldIfDue = createYielder();
  for (const item of items) {
    await yieldIfDue();
    yield item;
  }
}

/**
 * Calls `read` with at most `size` values at a time, and returns all results in order. Yields to the event loop after each call, because awaiting a
 * synchronous read wouldn't.
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

export function* chunksOf<T>(values: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size);
}

/** Resolves in the next tick, after sockets have been read. Long tasks should use `yieldToEventLoop`, which resumes one per tick. */
export function nextImmediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
