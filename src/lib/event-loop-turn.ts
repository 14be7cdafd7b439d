/** Resolves after one turn of the event loop, in which sockets are read. Long work waits with `nextTurn` of pace.ts, one work per turn. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
