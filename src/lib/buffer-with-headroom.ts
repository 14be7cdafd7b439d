/** Bytes with room in front of them, where whoever sends them writes what comes first: so they leave in one write, without a copy. */
export interface BufferWithHeadroom {
  readonly memory: Buffer;
  /** Where the bytes begin; they go on to the end, and never change. */
  readonly start: number;
}

/** More than the head of an answer takes, but for very long headers. */
const headroom = 4096;

/** `parts` one after another. */
export function joinWithHeadroom(parts: readonly Uint8Array[]): BufferWithHeadroom {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const memory = Buffer.allocUnsafeSlow(headroom + length);
  let at = headroom;
  for (const part of parts) {
    memory.set(part, at);
    at += part.length;
  }
  return { memory, start: headroom };
}
