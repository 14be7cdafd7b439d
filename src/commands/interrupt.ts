// Ctrl-C in a command that reports what it has done before it ends.

import { printMessage } from "./common.ts";

/** Milliseconds in which a repeated signal is the same Ctrl-C: npm and the terminal both pass it on. */
const repeatTime = 1000;

/**
 * Runs `work`, and aborts its signal at Ctrl-C, SIGTERM or SIGHUP. A second one ends the process at once.
 * @param onStop called before the process ends
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>, onStop: () => void): Promise<T> {
  const controller = new AbortController();
  let first = 0;
  const onSignal = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      first = now;
      printMessage("stopping after what is being stored; press Ctrl-C again to stop at once");
      controller.abort();
    } else if (now - first > repeatTime) {
      printMessage("stopped; what was being stored may or may not have been stored");
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

/** The items of `source`. @throws the signal's reason as soon as it is aborted, even if `source` has not produced its next item */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const items = source[Symbol.asyncIterator]();
  while (true) {
    signal.throwIfAborted();
    const next = await unlessAborted(items.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** Not `Promise.race` with one promise for all items: that would keep them all in memory as long as it lives. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  return result;
}
