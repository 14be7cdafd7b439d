import { messageOf } from "../lib/thrown.ts";
import type { HttpDependencies } from "./dependencies.ts";

/** Milliseconds between two writes to the store. */
const interval = 30_000;

/** Remembers when each key was last used, and stores that every 30 seconds and on `stop`. */
export class KeyUses {
  readonly #dependencies: Pick<HttpDependencies, "engine" | "log">;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<number, number>();

  constructor(dependencies: Pick<HttpDependencies, "engine" | "log">) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#flush(), interval);
    this.#timer.unref();
  }

  /** @param now milliseconds since 1970 */
  note(keyId: number, now: number): void {
    this.#uses.set(keyId, now);
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  /** A failure is logged. What could not be stored is lost. */
  async #flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#dependencies.engine.noteKeyUse(uses);
    } catch (error) {
      this.#dependencies.log.warn({ reason: messageOf(error) }, "could not note when keys were last used");
    }
  }
}
