// How much new responses write at once. Requests of a thousand connections may arrive in one turn of the event loop, and each is handled when it
// arrives: what their responses write then is bounded together. The rest is written when it is the connection's turn (turns.ts).

/** Bytes of one response. The system copies 4 MiB in a millisecond. */
const mostOfOne = 512 * 1024;
/** Bytes of all responses in one turn of the event loop. */
const mostOfTurn = 2 * 1024 * 1024;
/** Bytes that every response writes at once, so that small ones never wait for large ones. */
const always = 16 * 1024;

let left = mostOfTurn;

/** How many of the first `length` bytes of a new response to write now. */
export function firstWrite(length: number): number {
  if (length <= always) return length;
  if (left === mostOfTurn) setImmediate(() => (left = mostOfTurn));
  const bytes = Math.min(length, mostOfOne, Math.max(left, always));
  left = Math.max(0, left - bytes);
  return bytes;
}
