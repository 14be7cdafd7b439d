// Ctrl-C in a long command: the command finishes its current step, reports what it has stored, and ends.

import { printMessage } from "./output.ts";

/** Milliseconds in which a repeated signal counts as the same Ctrl-C, because npm and the terminal both pass it on. */
export const repeatWithinMs = 1000;

/**
 * Runs `work`, and aborts its AbortSignal at SIGINT (Ctrl-C), SIGTERM or SIGHUP. A second signal ends the process at once, with status 1.
 * @param onStop called before the second signal ends the process
 */
export async function runInterruptible<T>(work: (signal: AbortSignal) => Promise<T>, onStop: () => void): Promise<T> {
  const controller = new AbortController();
  let first = 0;
  const onSignal = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      first = now;
      printMessage("stopping after the present step; press Ctrl-C again to stop at once");
      controller.abort();
    } else if (now - first > repeatWithinMs) {
      printMessage("stopped; the last step may or may not have been stored");
      onStop();
      process.exit(1);
    }
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of signals) process.on(name, onSignal);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of signals) process.off(name, onSignal);
  }
}

/** Yields the items of `source`. @throws the signal's reason as soon as it is aborted, even while `source` prepares its next item */
export async function* waitUntilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const items = source[Symbol.asyncIterator]();
  while (true) {
    signal.throwIfAborted();
    const next = await unlessAborted(items.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/**
 * Returns the result of `promise`, or throws the signal's reason as soon as it is aborted. Do not use `Promise.race` with one promise for
 * the signal: that promise would keep all items in memory.
 */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  return result;
}
