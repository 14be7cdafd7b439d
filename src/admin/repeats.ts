// Requests that are sent again because their response was lost: the same `Idempotency-Key` gets the first response, and nothing is done twice.
// They are remembered in memory only: responses may have secrets, such as a new key, which are stored nowhere.

import { Refusal } from "../model/errors.ts";
import type { AdminContent } from "./handler.ts";

interface Remembered {
  /** Method and target. */
  readonly request: string;
  readonly content: Promise<AdminContent>;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Responses at most, of all operators, and milliseconds for which each is remembered. */
const maxRemembered = 500;
const lifetime = 10 * 60_000;

export class Repeats {
  /** By operator and key, the oldest first. */
  readonly #remembered = new Map<string, Remembered>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The response to a request: the first one, also if that is still being made. What failed is done again.
   * @throws Refusal `bad-request`, `idempotency-key-reused`
   */
  once(operator: string, key: string, request: string, respond: () => Promise<AdminContent>): Promise<AdminContent> {
    if (!/^[\x20-\x7e]{1,255}$/.test(key))
      throw new Refusal("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
    this.#removeOld();
    const name = `${operator}\n${key}`;
    const found = this.#remembered.get(name);
    if (!found) return this.#remember(name, request, respond());
    if (found.request === request) return found.content;
    throw new Refusal("idempotency-key-reused", "the Idempotency-Key was used for another request");
  }

  #remember(name: string, request: string, content: Promise<AdminContent>): Promise<AdminContent> {
    const remembered = { request, content, at: this.#now() };
    this.#remembered.set(name, remembered);
    content.catch(() => this.#remembered.delete(name));
    return content;
  }

  #removeOld(): void {
    for (const [name, { at }] of this.#remembered) {
      if (at > this.#now() - lifetime && this.#remembered.size < maxRemembered) return;
      this.#remembered.delete(name);
    }
  }
}
