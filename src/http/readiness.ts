import { after } from "../lib/maybe-promise.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { systemSite } from "../model/system-site.ts";

/** Milliseconds for which a result holds. */
const lifetime = 1000;
/** Milliseconds in which the storage must respond. */
const timeout = 3000;

interface CheckResult {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly result: Promise<void>;
}

/**
 * Checks whether the storage can be read and written, at most once a second for all callers: this needs no key, and must not
 * become a load.
 * @param now milliseconds since 1970
 * @returns a function that rejects with a Refusal `unavailable` when it cannot
 */
export function createReadiness(engine: Pick<Engine, "heads" | "tryWrite">, now: () => number): () => Promise<void> {
  let last: CheckResult | undefined;
  let running: Promise<void> | undefined;

  /** One check at a time. Otherwise a storage that does not respond would get one more each second. */
  function check(): Promise<void> {
    running ??= readAndWrite(engine).finally(() => {
      running = undefined;
    });
    return inTime(running);
  }

  return () => {
    const at = now();
    if (last === undefined || Math.abs(at - last.at) >= lifetime) {
      last = { at, result: check() };
      // The callers handle a failure. Without this, one that no caller waits for would end the process.
      last.result.catch(() => {});
    }
    return last.result;
  };
}

async function readAndWrite(engine: Pick<Engine, "heads" | "tryWrite">): Promise<void> {
  await after(engine.heads([systemSite]), () => engine.tryWrite());
}

async function inTime(check: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = new Refusal("unavailable", `the storage did not respond within ${timeout} ms`, { retryAfter: 1 });
  const timer = setTimeout(() => reject(error), timeout);
  try {
    await Promise.race([check, promise]);
  } finally {
    clearTimeout(timer);
  }
}
