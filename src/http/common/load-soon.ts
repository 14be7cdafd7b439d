import type { Logger } from "pino";

/** Milliseconds after the start. */
const loadDelayMs = 250;

/**
 * Loads code soon after the start, so that the server starts quickly. Don't wait for the first request that needs it: by then, all file descriptors may be in
 * use, and the runtime never retries a failed import. Returns the timer.
 */
export function loadSoon(loads: readonly (() => Promise<unknown>)[], log: Logger): NodeJS.Timeout {
  const loadAll = async () => {
    const results = await Promise.allSettled(loads.map((load) => load()));
    const errors = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    for (const error of errors) log.error({ err: error }, "couldn't load a part of the program");
    if (errors.length === 0) log.debug("loaded the rest of the program");
  };
  return setTimeout(() => void loadAll(), loadDelayMs).unref();
}
