// Checks whether a recorded history of operations on a register is linearizable, which means that each could have happened at a single moment between its call
// and its return (Wing & Gong 1993, with Lowe's cache of visited states).

/** An operation on a register. No value is written twice. */
export interface Operation {
  /** From any monotonic clock, as long as it's the same for all. */
  readonly called: number;
  readonly returned: number;
  /** Returns the state after the operation; undefined if it can't happen in `state`. */
  apply(state: string): string | undefined;
}

/** Whether `history` is linearizable, starting from `initial`. */
export function isLinearizable(history: readonly Operation[], initial: string): boolean {
  const operations = [...history].sort((a, b) => a.called - b.called);
  const seen = new Set<string>();
  const stack = [{ done: 0n, first: 0, state: initial }];
  for (let step = stack.pop(); step; step = stack.pop()) {
    const first = firstOpen(operations, step.done, step.first);
    if (first === operations.length) return true;
    const key = `${step.done >> BigInt(first)}/${first}/${step.state}`;
    if (seen.has(key)) continue;
    seen.add(key);
    for (const index of candidates(operations, step.done, first)) {
      const state = operations[index]?.apply(step.state);
      if (state !== undefined) stack.push({ done: step.done | (1n << BigInt(index)), first, state });
    }
  }
  return false;
}

function firstOpen(operations: readonly Operation[], done: bigint, from: number): number {
  let first = from;
  while (first < operations.length && (done >> BigInt(first)) & 1n) first++;
  return first;
}

/** Returns which operations may be next: pending ones called before any other pending one returned. */
function candidates(operations: readonly Operation[], done: bigint, first: number): number[] {
  const found: number[] = [];
  let earliestReturn = Number.POSITIVE_INFINITY;
  for (let i = first; i < operations.length; i++) {
    const operation = operations[i] as Operation;
    if (operation.called > earliestReturn) break;
    if ((done >> BigInt(i)) & 1n) continue;
    found.push(i);
    earliestReturn = Math.min(earliestReturn, operation.returned);
  }
  return found;
}
