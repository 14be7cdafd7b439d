import { setImmediate } from "node:timers/promises";

/** Milliseconds of work before the event loop gets a turn. */
const turnTime = 4;

/** A function to call between two steps of long work. When the work has run for 4 ms, it waits until the event loop has had a turn. */
export function createPace(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < turnTime) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
