import { messageOf } from "../lib/thrown.ts";
import type { HttpDependencies } from "./dependencies.ts";

/** How often the store is told, in milliseconds. */
const interval = 30_000;

/** Notes when each key was last used, and tells the store now and then. */
export function createKeyUses({ engine, log }: Pick<HttpDependencies, "engine" | "log">) {
  let uses = new Map<number, number>();

  async function flush(): Promise<void> {
    if (uses.size === 0) return;
    const noted = uses;
    uses = new Map();
    try {
      await engine.noteKeyUse(noted);
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "could not note when keys were last used");
    }
  }

  const timer = setInterval(() => void flush(), interval);
  timer.unref();
  return {
    note: (keyId: number, now: number) => void uses.set(keyId, now),
    stop(): Promise<void> {
      clearInterval(timer);
      return flush();
    },
  };
}
