import { errorMessage } from "../../lib/errors-for-log.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Milliseconds between writes to the database. */
const flushIntervalMs = 30_000;

/** Tracks when API keys were last used, and saves that every 30 seconds and on `stop`. */
export class KeyUseTracker {
  readonly #dependencies: Pick<HttpDependencies, "engine" | "log">;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<number, number>();

  constructor(dependencies: Pick<HttpDependencies, "engine" | "log">) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#flush(), flushIntervalMs);
    this.#timer.unref();
  }

  /** @param now milliseconds since 1970 */
  trackUse(keyId: number, now: number): void {
    this.#uses.set(keyId, now);
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  /** If this fails, the times since the last flush are lost. */
  async #flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#dependencies.engine.saveKeyUses(uses);
    } catch (error) {
      this.#dependencies.log.warn({ reason: errorMessage(error) }, "couldn't save when keys were last used");
    }
  }
}
