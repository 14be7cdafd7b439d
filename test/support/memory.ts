// Measures the memory that a test's process uses.

import { heapStats } from "bun:jsc";
import { ticks } from "./time.ts";

/** How often to collect garbage for one figure, and how far two collections in a row may differ. */
const [maxCollections, toleratedBytes] = [10, 10_000];

/**
 * Collects garbage until that frees nothing more, and returns the bytes that are left. Once isn't enough, because recently used values may still be on the
 * stack, and some buffers are only freed after their owners.
 * @param read returns the bytes in use
 */
async function collect(read: () => number): Promise<number> {
  let bytes = Number.POSITIVE_INFINITY;
  for (let collections = 0; collections < maxCollections; collections++) {
    await ticks();
    Bun.gc(true);
    const left = read();
    if (left > bytes - toleratedBytes) return Math.min(left, bytes);
    bytes = left;
  }
  return bytes;
}

/** Returns the heap's bytes: its cells and all they own, including uncollected garbage. */
export function heapBytes(): number {
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

/** The same without garbage. */
export const retainedBytes = (): Promise<number> => collect(heapBytes);

/** Returns the bytes outside the heap's cells, such as strings, without garbage. */
export const retainedBytesOutsideCells = (): Promise<number> => collect(() => heapStats().extraMemorySize);

/** Returns the bytes of all buffers, without garbage. */
export const retainedBufferBytes = (): Promise<number> => collect(() => process.memoryUsage().arrayBuffers);
