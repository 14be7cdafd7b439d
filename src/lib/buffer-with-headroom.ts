/** Bytes with free space before them, for a header: both are then sent in one write, without a copy. */
export interface BufferWithHeadroom {
  readonly memory: Buffer;
  /** Where the bytes start. They extend to the end of `memory`, and never change. */
  readonly start: number;
}

/** Bytes of free space: enough for the header section of a response, unless it is very long. */
const headroom = 4096;

/** Joins `parts`, with free space before them. */
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
