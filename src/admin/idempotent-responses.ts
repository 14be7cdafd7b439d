// Responses to repeated requests. If a client repeats a request because its response was lost, the same `Idempotency-Key` gets the first response,
// and the action does not run twice. Responses are kept in memory only, because they may contain secrets that are stored nowhere, such as a new
// API key.

import { idempotencyKeyReusedError } from "../http/common/parameters.ts";
import { AbandonedWorkError } from "../lib/work-limiter.ts";
import type { SiteRecord } from "../system/system-records.ts";
import type { AdminContent } from "./handler.ts";

/** The identity of a request that the client may repeat. */
interface RepeatableRequest {
  /** ID of the operator. The session is not part of the identity: an operator can repeat a request after a new sign-in. */
  readonly operator: number;
  /** The epoch of the system site. After a restore, a request is executed again: its effect was discarded, and another operator may have the ID. */
  readonly systemEpoch: string;
  readonly key: string;
  /** A text that is the same only for the same request: method, target and content. */
  readonly request: string;
}

interface RepeatableResponse {
  readonly content: AdminContent;
  readonly site: SiteRecord | undefined;
}

interface KeptResponse extends Pick<RepeatableRequest, "operator" | "request"> {
  readonly response: Promise<RepeatableResponse>;
  /** Time of the request, in milliseconds since 1970. */
  readonly at: number;
  isPending: boolean;
}

/** Maximum number of kept responses: of all operators, and of one operator. */
const maxKept = 500;
const maxOfOperator = 100;
/** Maximum length of a kept response, in characters or bytes. A longer response is a report; a repeated request makes it again. */
const maxLength = 64 * 1024;
/** Milliseconds for which a response is kept. */
const responseLifetimeMs = 10 * 60_000;

export class IdempotentResponses {
  /** Kept responses by epoch, operator and `Idempotency-Key`, the oldest first. */
  readonly #kept = new Map<string, KeptResponse>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns the first response to a request, and waits for it if it is still being made. A request that failed runs again. The caller must check that
   * the operator may still manage the site of the response.
   * @param respond runs the action and returns its response
   * @throws ProblemError `idempotency-key-reused`, and every error that `respond` throws
   */
  respondOnce(attempt: RepeatableRequest, respond: () => Promise<RepeatableResponse>): Promise<RepeatableResponse> {
    this.#removeOld();
    const found = this.#kept.get(nameOf(attempt));
    if (!found) {
      this.#evictOldest(attempt.operator);
      return this.#keep(attempt, respond());
    }
    if (found.request === attempt.request) return this.#shareOrRepeat(found.response, attempt, respond);
    throw idempotencyKeyReusedError();
  }

  /** Returns the first response. If the first request was discarded because its client had left, runs the repeated request. */
  async #shareOrRepeat(
    first: Promise<RepeatableResponse>,
    attempt: RepeatableRequest,
    respond: () => Promise<RepeatableResponse>,
  ): Promise<RepeatableResponse> {
    try {
      return await first;
    } catch (error) {
      if (error instanceof AbandonedWorkError) return this.respondOnce(attempt, respond);
      throw error;
    }
  }

  #keep(attempt: RepeatableRequest, response: Promise<RepeatableResponse>): Promise<RepeatableResponse> {
    const name = nameOf(attempt);
    const { operator, request } = attempt;
    const kept = { operator, request, response, at: this.#now(), isPending: true };
    this.#kept.set(name, kept);
    response.then(
      ({ content: { body } }) => {
        kept.isPending = false;
        const isShort = body === null || (!Array.isArray(body) && (body as string | Uint8Array).length <= maxLength);
        if (!isShort) this.#kept.delete(name);
      },
      () => this.#kept.delete(name),
    );
    return response;
  }

  #removeOld(): void {
    for (const [name, { at, isPending }] of this.#kept)
      if (!isPending && at <= this.#now() - responseLifetimeMs) this.#kept.delete(name);
  }

  /** Evicts the oldest response when a limit is reached. A pending response is never evicted: its action would run twice. */
  #evictOldest(operator: number): void {
    const own = [...this.#kept].filter(([, one]) => one.operator === operator);
    const candidates = own.length >= maxOfOperator ? own : this.#kept.size >= maxKept ? this.#kept : [];
    for (const [name, { isPending }] of candidates) {
      if (isPending) continue;
      this.#kept.delete(name);
      return;
    }
  }
}

function nameOf({ operator, systemEpoch, key }: RepeatableRequest): string {
  return `${systemEpoch}\n${operator}\n${key}`;
}
