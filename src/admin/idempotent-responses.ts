// Requests that are sent again because their response was lost: the same `Idempotency-Key` gets the first response, and nothing is done twice.
// They are remembered in memory only: responses may have secrets, such as a new key, which are stored nowhere.

import { Refusal } from "../model/errors.ts";
import type { AdminContent } from "./handler.ts";

/** What identifies a request that may be sent again. */
interface Attempt {
  /** ID of the operator, which no other operator ever has. A session is not part of it: who must sign in again has the same request. */
  readonly operator: number;
  readonly key: string;
  /** All that makes it the same request: method, target and content. */
  readonly request: string;
}

/** The response to a request. */
interface RepeatableResponse {
  readonly content: AdminContent;
  /** ID of the site that it is about. */
  readonly site: number | undefined;
}

interface Remembered extends Omit<Attempt, "key"> {
  readonly response: Promise<RepeatableResponse>;
  /** Milliseconds since 1970. */
  readonly at: number;
  isUnderWay: boolean;
}

/** Responses of all operators and of one, and characters or bytes of a response: a longer one is a report, and is made again. */
const maxRemembered = 500;
const maxOfOperator = 100;
const maxLength = 64 * 1024;
/** Milliseconds for which a response is remembered. */
const lifetime = 10 * 60_000;

export class Repeats {
  /** By operator and key, the oldest first. */
  readonly #remembered = new Map<string, Remembered>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The response to a request: the first one, also if that is still being made. What failed is done again. The caller checks that the operator
   * may still manage the site of the response.
   * @throws Refusal `bad-request`, `idempotency-key-reused`, and what `respond` throws
   */
  once(attempt: Attempt, respond: () => Promise<RepeatableResponse>): Promise<RepeatableResponse> {
    if (!/^[\x20-\x7e]{1,255}$/.test(attempt.key))
      throw new Refusal("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
    this.#removeOld();
    const found = this.#remembered.get(nameOf(attempt));
    if (!found) {
      this.#makeRoom(attempt.operator);
      return this.#remember(attempt, respond());
    }
    if (found.request === attempt.request) return found.response;
    throw new Refusal("idempotency-key-reused", "the Idempotency-Key was used for another request");
  }

  #remember(attempt: Attempt, response: Promise<RepeatableResponse>): Promise<RepeatableResponse> {
    const name = nameOf(attempt);
    const { operator, request } = attempt;
    const remembered = { operator, request, response, at: this.#now(), isUnderWay: true };
    this.#remembered.set(name, remembered);
    response.then(
      ({ content: { body } }) => {
        remembered.isUnderWay = false;
        if (!isShort(body)) this.#remembered.delete(name);
      },
      () => this.#remembered.delete(name),
    );
    return response;
  }

  #removeOld(): void {
    for (const [name, { at, isUnderWay }] of this.#remembered)
      if (!isUnderWay && at <= this.#now() - lifetime) this.#remembered.delete(name);
  }

  /** Forgets the oldest at the bounds; never what is under way, which would be done twice. */
  #makeRoom(operator: number): void {
    const own = [...this.#remembered].filter(([, one]) => one.operator === operator);
    const crowd = own.length >= maxOfOperator ? own : this.#remembered.size >= maxRemembered ? this.#remembered : [];
    for (const [name, { isUnderWay }] of crowd) {
      if (isUnderWay) continue;
      this.#remembered.delete(name);
      return;
    }
  }
}

function nameOf({ operator, key }: Attempt): string {
  return `${operator}\n${key}`;
}

function isShort(body: AdminContent["body"]): boolean {
  return body === null || (!Array.isArray(body) && (body as string | Uint8Array).length <= maxLength);
}
