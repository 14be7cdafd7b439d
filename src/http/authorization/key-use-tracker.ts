import { errorMessage } from "../../lib/errors-for-log.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Milliseconds between writes to the database. */
const flushIntervalMs = 30_000;

/** Tracks when API keys were last used, and saves that every 30 seconds and on `stop`. */
export class KeyUseTracker {
  readonly #dependencies: Pick<HttpDependencies, "engine" | "log">;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<number, number>();
  /** The ones saved last. Until the next are saved, they may still be on their way to the database. */
  #saved: ReadonlyMap<number, number> = new Map();

  constructor(dependencies: Pick<HttpDependencies, "engine" | "log">) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#flush(), flushIntervalMs);
    this.#timer.unref();
  }

  /** @param now milliseconds since 1970 */
  trackUse(keyId: number, now: number): void {
    this.#uses.set(keyId, now);
  }

  /** Returns the uses that may not be in the database yet, of those keys. */
  latestUses(keys: readonly number[]): (readonly [key: number, at: number])[] {
    return keys.flatMap((key) => {
      const at = this.#uses.get(key) ?? this.#saved.get(key);
      return at === undefined ? [] : [[key, at] as const];
    });
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  /** If this fails, the times since the last flush are lost. */
  async #flush(): Promise<void> {
    const uses = this.#uses;
    this.#saved = uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    try {
      await this.#dependencies.engine.saveKeyUses(uses);
    } catch (error) {
      this.#dependencies.log.warn({ reason: errorMessage(error) }, "couldn't save when keys were last used");
    }
  }
}
