// Lets Ctrl-C stop a long command cleanly: it finishes the current step and reports what it has stored.

import { printMessage } from "./output.ts";

/** A signal repeated sooner is the same Ctrl-C, passed on by both npm and the terminal. */
export const repeatWithinMs = 1000;

/**
 * Aborts the AbortSignal of `work` at SIGINT (Ctrl-C), SIGTERM or SIGHUP. A second signal exits immediately with status 1.
 * @param onStop called just before that
 */
export async function runInterruptible<T>(work: (signal: AbortSignal) => Promise<T>, onStop: () => void): Promise<T> {
  const controller = new AbortController();
  let first = 0;
  const onSignal = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      first = now;
      printMessage("finishing the current step; press Ctrl-C again to stop now");
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

/** @throws the signal's reason as soon as it's aborted, even while waiting for the next item of `source` */
export async function* waitUntilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const items = source[Symbol.asyncIterator]();
  while (true) {
    signal.throwIfAborted();
    const next = await unlessAborted(items.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** Not `Promise.race` with one promise for the signal, because that promise would keep all items in memory. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  return result;
}
