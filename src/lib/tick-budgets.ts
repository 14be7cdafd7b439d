// How tasks share the event loop's ticks, so that none delays other clients for long. There are four kinds:
//
//   `Steps`          a generator that can pause at each `yield`, such as a list or a sort (slices.ts)
//   Yielding task    an async function that yields to the event loop between steps (yielding.ts)
//   `FairTask`       a short task that can't be interrupted, in a queue with one group per site (fair-queue.ts)
//   Connection step  one request, or part of its body, that a connection processes in one go (wire/round-robin.ts)

/**
 * How long all tasks of a kind together may run per tick. A request that arrives in the meantime waits for about the sum. A kind can overrun its budget by
 * one step or one short task, because these aren't interrupted.
 */
export const tickBudgetMs = {
  /** First slices of new `Steps`. Once it's used up, new `Steps` start in later ticks. */
  firstSlices: 2,
  /** Later slices of `Steps`, which take turns of at most 1 ms. */
  slices: 2,
  /** Yielding tasks. Only one runs per tick. */
  yielding: 2,
  /** Short tasks in all fair queues, at most 8 per queue. */
  short: 2,
  /** Later steps of a listener's connections. Checking their timeouts once a second may take as long again. */
  connections: 1,
} as const;
