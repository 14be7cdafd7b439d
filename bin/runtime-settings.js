import { availableParallelism } from "node:os";

/**
 * Settings that Bun reads when a process starts.
 *
 * Memory: by default, Bun searches all the time for unused pages, and returns them to the kernel. The kernel clears these pages when the next
 * objects need them. With these settings, Bun searches every ten seconds, and no thread touches new pages in advance. That saves 3 to 15% of the
 * CPU time of a create, and costs 50 to 130 MB under writes.
 *
 * Threads: Bun's threads read files, compress, and look up names. Their maximum is one per core, and one per look-up that
 * `src/webhooks/name-resolver.ts` has in flight, because a look-up occupies its thread for seconds if no name server responds. A thread starts
 * when it is needed.
 */
export const runtimeSettings = {
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  UV_THREADPOOL_SIZE: String(Math.max(availableParallelism(), 2) + 4),
};
