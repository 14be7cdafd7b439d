// How Bun returns memory to the system. By default, it looks for unused pages between used ones all the time. The system clears them for
// the next objects moments later, which takes up to a tenth of the time of a create (docs/decisions.md). With these settings it looks every
// ten seconds, and no thread touches new pages in advance.
export const memorySettings = {
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
  BUN_JSC_useWarmUpMarkedBlocks: "0",
};
