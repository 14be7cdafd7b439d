// Ctrl-C in a command that has something to report first.

import { printMessage } from "./common.ts";

/** npm and a terminal both pass on a Ctrl-C: what comes within so many milliseconds is the same one. */
const repeatTime = 1000;

/**
 * Does `work`, whose signal is aborted by Ctrl-C, SIGTERM or SIGHUP. When one comes again, the process ends at once.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let first = 0;
  const onSignal = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      first = now;
      printMessage("stopping after what is under way; once more to stop at once");
      controller.abort();
    } else if (now - first > repeatTime) {
      printMessage("stopped; what was under way may have been stored or not");
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

/** The items of `source` until the signal is aborted, which is thrown although an item may still be waited for. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {});
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  const items = source[Symbol.asyncIterator]();
  while (true) {
    const next = await Promise.race([items.next(), aborted]);
    if (next.done) return;
    yield next.value;
  }
}
