// The memory that a test's process uses.

import { heapStats } from "bun:jsc";
import { ticks } from "./time.ts";

/** Maximum collections for one figure, and the bytes by which two collections in a row may differ. */
const [maxCollections, toleratedBytes] = [10, 10_000];

/**
 * Collects garbage for as long as a collection frees more, and returns the bytes that are left. One collection is not enough: values that were used
 * last may still be on the stack, and a collection frees some buffers only after their owners are gone.
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

/** Returns the bytes of the heap: its cells, and all that the cells own. Garbage that is not collected counts too. */
export function heapBytes(): number {
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

/** Returns the bytes of the heap that are not garbage. */
export const retainedBytes = (): Promise<number> => collect(heapBytes);

/** Returns the bytes outside the cells of the heap, such as texts, that are not garbage. */
export const retainedBytesOutsideCells = (): Promise<number> => collect(() => heapStats().extraMemorySize);

/** Returns the bytes of all buffers that are not garbage. */
export const retainedBufferBytes = (): Promise<number> => collect(() => process.memoryUsage().arrayBuffers);
