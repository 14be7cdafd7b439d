import { after } from "../lib/maybe-promise.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { systemSite } from "../model/system-site.ts";

/** How long what was found out holds, in milliseconds. */
const lifetime = 1000;
/** How long the storage has to respond, in milliseconds. */
const timeout = 3000;

interface Finding {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly result: Promise<void>;
}

/**
 * Whether the storage can be read and written. It is asked at most once a second, and by one caller for all that come
 * meanwhile: whoever may not use the storage cannot load it by asking.
 * @param now milliseconds since 1970
 * @returns a function that rejects with a Refusal `unavailable` when it cannot
 */
export function createReadiness(engine: Pick<Engine, "heads" | "tryWrite">, now: () => number): () => Promise<void> {
  let finding: Finding | undefined;
  let underWay: Promise<void> | undefined;

  /** One at a time: a storage that does not respond would otherwise get one more each second. */
  function ask(): Promise<void> {
    underWay ??= readAndWrite(engine).finally(() => {
      underWay = undefined;
    });
    return inTime(underWay);
  }

  return () => {
    const at = now();
    if (finding === undefined || Math.abs(at - finding.at) >= lifetime) {
      finding = { at, result: ask() };
      // Those who asked get the failure; without them it would end the process.
      finding.result.catch(() => {});
    }
    return finding.result;
  };
}

async function readAndWrite(engine: Pick<Engine, "heads" | "tryWrite">): Promise<void> {
  await after(engine.heads([systemSite]), () => engine.tryWrite());
}

async function inTime(asked: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = new Refusal("unavailable", `the storage did not respond within ${timeout} ms`, { retryAfter: 1 });
  const timer = setTimeout(() => reject(error), timeout);
  try {
    await Promise.race([asked, promise]);
  } finally {
    clearTimeout(timer);
  }
}
