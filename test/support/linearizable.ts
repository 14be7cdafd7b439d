// Whether a recorded history of operations on one register could have come from operations that each happened at one
// moment between their call and their return (Wing & Gong 1993, with Lowe's memory of states that were seen).

/** An operation on a register whose values are never written twice. */
export interface Operation {
  /** Any clock that goes up, the same for all. */
  readonly called: number;
  readonly returned: number;
  /** The state after it, when it may happen in `state`; undefined when it may not. */
  apply(state: string): string | undefined;
}

/** Whether `history` is linearizable, from the state `initial`. */
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

/** Those that may come next: open ones that were called before any other open one returned. */
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
