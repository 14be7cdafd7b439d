import { availableParallelism } from "node:os";

/**
 * Environment variables that Bun reads when a process starts.
 *
 * Memory: by default, Bun constantly looks for unused pages and returns them to the kernel, which has to clear them again when they're next needed. With
 * these settings, Bun only looks every ten seconds, and no thread touches new pages in advance. That saves 3 to 15% of the CPU time of a create, and
 * costs 50 to 130 MB while there are writes.
 *
 * Threads: Bun's threads read files, compress and resolve names. They start on demand, up to one per core, plus one for each lookup that
 * `src/webhooks/name-resolver.ts` runs, because a lookup blocks its thread for seconds if no name server responds.
 */
export const runtimeSettings = {
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  UV_THREADPOOL_SIZE: String(Math.max(availableParallelism(), 2) + 4),
};
