// Makes it safe to repeat a request whose response was lost: with the same `Idempotency-Key`, it gets the first response, and the action doesn't run
// again. Responses are only kept in memory, because they may have secrets that mustn't be stored, such as a new API key.

import { idempotencyKeyReusedError } from "../http/common/parameters.ts";
import { AbandonedWorkError } from "../lib/work-limiter.ts";
import type { SiteRecord } from "../system/system-records.ts";
import type { AdminContent } from "./handler.ts";

/** What identifies a request. */
interface RepeatableRequest {
  /** Not the session, so that operators can repeat a request after signing in again. */
  readonly operator: number;
  /** After a restore, requests run again, because their effect was discarded, and another operator may have the ID. */
  readonly systemEpoch: string;
  readonly key: string;
  /** Only the same for the same method, target and content. */
  readonly request: string;
}

interface RepeatableResponse {
  readonly content: AdminContent;
  readonly site: SiteRecord | undefined;
}

interface KeptResponse extends Pick<RepeatableRequest, "operator" | "request"> {
  readonly response: Promise<RepeatableResponse>;
  /** In milliseconds since 1970. */
  readonly at: number;
  isPending: boolean;
}

/** In all, and per operator. */
const maxKept = 500;
const maxOfOperator = 100;
/** In characters or bytes. Longer responses are reports, which can simply be made again. */
const maxLength = 64 * 1024;
const responseLifetimeMs = 10 * 60_000;

export class IdempotentResponses {
  /** By epoch, operator and `Idempotency-Key`, oldest first. */
  readonly #kept = new Map<string, KeptResponse>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns the first response to a request, waiting for it if necessary. A request that failed runs again. The caller must check that the operator can
   * still manage the response's site.
   * @param respond runs the action
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

  /** Runs the repeated request if the first one was discarded because its client had left. */
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

  /** Makes room at a limit. Never evicts a pending response, because its action could then run twice. */
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
