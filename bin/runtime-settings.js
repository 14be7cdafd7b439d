import { availableParallelism } from "node:os";

/**
 * Settings that Bun reads when a process starts.
 *
 * How it returns memory to the system: by default, it looks for unused pages between used ones all the time. The system clears them for
 * the next objects moments later, which takes up to a tenth of the time of a create (docs/decisions/memory.md). With these settings it looks every
 * ten seconds, and no thread touches new pages in advance.
 *
 * How many threads read files, compress, and look up names: as many as there are cores, and one for each look-up that
 * `src/webhooks/name-resolver.ts` has under way, since a look-up keeps its thread for seconds when no name server responds. A thread is started
 * when it is needed.
 */
export const runtimeSettings = {
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  UV_THREADPOOL_SIZE: String(Math.max(availableParallelism(), 2) + 4),
};
