// How tasks share the ticks of the event loop, so that no task delays other clients for long. There are four kinds of task:
//
//   `Steps`          A generator that can be interrupted at each `yield`, such as a list or a sort (slices.ts).
//   Yielding task    An async function that yields to the event loop between its steps (yielding.ts).
//   `FairTask`       A short task that cannot be interrupted, in a queue with one group per site (fair-queue.ts).
//   Connection step  One request, or a part of its body, that a connection processes without an interruption (wire/round-robin.ts).

/**
 * Maximum milliseconds per tick, for all tasks of a kind together. A request that arrives meanwhile waits for about their sum. A kind can exceed its
 * maximum by one step or one short task, because these are not interrupted. `Steps` have two maxima: one for first slices, one for further slices.
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
  /** The further steps of the connections of one listener; and as much for the check of their timeouts, once a second. */
  connections: 1,
} as const;
