// Queues a client's requests, in the order of the calls, to keep its key below the rate limit.
//
// The server keeps a token bucket for each key: every request takes a token, and tokens are refilled at a fixed rate. We compute the same bucket from
// `RateLimit-Policy`, and correct it from the `RateLimit` header of each response, because other programs may use the key too. Like the server, we
// store a bucket as the time at which it will be full.
//
// A batch request can take more tokens than the bucket has, and so leave it in debt. No requests are sent until it has a token again.
//
// We don't know the limit before the first response, so until then at most four requests are in flight. Without a limit, nothing waits.
//
// Invariants:
// - Requests are sent in the order of their calls. A call that got a 429 goes back ahead of all later calls.
// - A call waits until its deadline at most, and stops waiting as soon as its signal is aborted. At most 100,000 calls wait.
// - Long polls take tokens like any request, but don't count towards the four, so they hold up nothing else.

import { maxDelayMs, type RateLimit } from "./options.ts";
import { parseRateLimit } from "./rate-limit.ts";
import { StorefrontFailure, toMilliseconds } from "./storefront-errors.ts";
import { abortReason, backOff, throwIfAborted } from "./wait.ts";

/** A call, which needs a permit for each of its attempts. */
interface QueuedCall {
  /** The position among all of the client's calls. */
  readonly order: number;
  readonly signal: AbortSignal | undefined;
  /** Maximum milliseconds to wait, from the start of the call. With 0, its requests bypass the queue. */
  readonly maxWaitMs: number;
  /** When `maxWaitMs` is up, by `performance.now()`. */
  readonly deadline: number;
  /** Whether the server may hold the response until something changes. */
  readonly isLongPoll: boolean;
}

/** Permission to send one request. */
interface Permit {
  readonly isLongPoll: boolean;
  /** When it was granted, by `performance.now()`. */
  readonly sentAt: number;
  /** Number of requests sent before this one. */
  readonly sentBefore: number;
  /** Number of requests in flight when it was granted. */
  readonly inFlight: number;
  /** Whether the server rejected the request because the bucket was empty. */
  isOverLimit: boolean;
  isReleased: boolean;
}

/** The key's bucket. Until `fullAt`, it's short of one token per `perTokenMs`. */
interface Bucket {
  readonly maxTokens: number;
  readonly perTokenMs: number;
  fullAt: number;
}

interface Waiter {
  readonly call: QueuedCall;
  readonly start: () => void;
}

/** Maximum requests in flight, not counting long polls, while we don't know the limit. Browsers open six connections to a host. */
const maxUnknown = 4;
const maxWaiting = 100_000;
/** How long a token has to be there before we take it, in milliseconds, because requests differ in how long they take to reach the server. */
const marginMs = 25;

export class RequestQueue {
  #calls = 0;
  #sent = 0;
  #inFlight = 0;
  /** Requests in flight, not counting long polls. */
  #shortInFlight = 0;
  #bucket: Bucket | "unknown" | "unlimited" = "unknown";
  /** We send nothing before this time, because the server has rejected a request. */
  #blockedUntil = 0;
  readonly #waiting: Waiter[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  createCall(signal: AbortSignal | undefined, maxWaitMs: number, isLongPoll: boolean): QueuedCall {
    return { order: this.#calls++, signal, maxWaitMs, deadline: performance.now() + maxWaitMs, isLongPoll };
  }

  /**
   * Waits until the call may send a request.
   * @param cause why the call's previous attempt failed
   * @throws StorefrontFailure if the call would wait too long, or the signal's reason if it's aborted
   */
  async acquire(call: QueuedCall, cause?: unknown): Promise<Permit> {
    if (call.maxWaitMs === 0) return this.#send(call);
    throwIfAborted(call.signal);
    const index = this.#indexOf(call);
    const waitMs = this.#waitOf(call, index);
    if (index === 0 && waitMs <= 0) return this.#send(call);
    if (Number.isFinite(waitMs) && performance.now() + waitMs > call.deadline) throw tooLateError(call, cause);
    if (this.#waiting.length >= maxWaiting) {
      throw new StorefrontFailure(
        "rate-limit",
        `this client already has ${maxWaiting} calls waiting for the rate limit`,
        { cause },
      );
    }
    return this.#enqueue(call, index, cause);
  }

  /** Returns the milliseconds until the call could send another request, or Infinity if that depends on a response. */
  waitFor(call: QueuedCall): number {
    return Math.max(0, this.#waitOf(call, this.#indexOf(call)));
  }

  /** Returns a permit once the response begins, or without a response if the attempt failed. Calling it again does nothing. */
  release(permit: Permit, response?: Response): void {
    if (permit.isReleased) return;
    permit.isReleased = true;
    this.#inFlight--;
    if (!permit.isLongPoll) this.#shortInFlight--;
    try {
      if (response) this.#learn(permit, response);
    } finally {
      this.#advance();
    }
  }

  /** Returns the position in the queue ahead of all later calls. */
  #indexOf({ order }: QueuedCall): number {
    const index = this.#waiting.findLastIndex(({ call }) => call.order < order);
    return index + 1;
  }

  /** @param index the number of calls ahead of this one */
  #waitOf({ isLongPoll }: QueuedCall, index: number): number {
    if (this.#bucket === "unlimited") return 0;
    if (this.#bucket === "unknown")
      return isLongPoll || this.#shortInFlight < maxUnknown ? 0 : Number.POSITIVE_INFINITY;
    const { fullAt, maxTokens, perTokenMs } = this.#bucket;
    const first = Math.max(this.#blockedUntil, fullAt - (maxTokens - 1) * perTokenMs + marginMs);
    return first + index * perTokenMs - performance.now();
  }

  #send({ isLongPoll }: QueuedCall): Permit {
    const sentAt = performance.now();
    const permit = { isLongPoll, sentAt, sentBefore: this.#sent, inFlight: this.#inFlight };
    this.#sent++;
    this.#inFlight++;
    if (!isLongPoll) this.#shortInFlight++;
    if (typeof this.#bucket === "object") {
      this.#bucket.fullAt = Math.max(this.#bucket.fullAt, sentAt) + this.#bucket.perTokenMs;
    }
    return { ...permit, isOverLimit: false, isReleased: false };
  }

  #enqueue(call: QueuedCall, index: number, cause: unknown): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const { signal, deadline } = call;
      const leave = (error: unknown) => {
        clean();
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        this.#advance();
        reject(error);
      };
      const abort = () => leave(abortReason(signal));
      const waitMs = Math.min(deadline - performance.now(), maxDelayMs);
      const timer =
        deadline === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => leave(tooLateError(call, cause)), waitMs);
      const clean = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      signal?.addEventListener("abort", abort);
      const start = () => {
        clean();
        resolve(this.#send(call));
      };
      const waiter = { call, start };
      this.#waiting.splice(index, 0, waiter);
      this.#advance();
    });
  }

  /** Starts the calls whose turn it is, and sets a timer for the next one. */
  #advance(): void {
    clearTimeout(this.#timer);
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      const waitMs = this.#waitOf(first.call, 0);
      if (waitMs > 0) {
        if (Number.isFinite(waitMs)) this.#timer = setTimeout(() => this.#advance(), Math.min(waitMs, maxDelayMs));
        return;
      }
      this.#waiting.shift();
      first.start();
    }
  }

  #learn(permit: Permit, { status, headers }: Response): void {
    const limit = parseRateLimit(headers);
    if (!limit) {
      // Proxies send no such headers when they can't reach the server.
      if (status < 500 && status !== 429) this.#bucket = "unlimited";
      return;
    }
    permit.isOverLimit = status === 429 && limit.remaining === 0;
    this.#correct(permit, limit.limit, limit.window / limit.limit, limit.remaining);
    // `reset` and `window` are both rounded to seconds.
    if (limit.reset > limit.window + 1000) this.#waitForDebt(limit);
    if (!permit.isOverLimit) return;
    const retryAfterMs = toMilliseconds(headers.get("Retry-After")) ?? 0;
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + retryAfterMs + backOff(1));
  }

  /** A batch request can leave the bucket in debt: send nothing until it has a token again. */
  #waitForDebt({ limit, window, reset }: RateLimit): void {
    const fullAt = performance.now() + reset;
    if (typeof this.#bucket === "object") this.#bucket.fullAt = fullAt;
    this.#blockedUntil = Math.max(this.#blockedUntil, fullAt - ((limit - 1) * window) / limit);
  }

  /**
   * Corrects `fullAt`. The server says how many whole tokens it had left (`remaining`) when it counted this request. We don't know when that was, so
   * `fullAt` lies between two bounds:
   * - `earliest`: the server counted this request as soon as we sent it, and none after it.
   * - `latest`: the server counted this request just now, and all others we had in flight at the same time after it.
   *
   * If `fullAt` is before `earliest`, it moves by whole tokens, because whatever other programs take from the key is whole tokens.
   */
  #correct(
    { sentAt, sentBefore, inFlight, isOverLimit }: Permit,
    maxTokens: number,
    perTokenMs: number,
    remaining: number,
  ) {
    const others = inFlight + this.#sent - sentBefore - 1;
    const earliest = sentAt + (maxTokens - remaining - 1) * perTokenMs;
    const latest = performance.now() + (maxTokens - remaining + others) * perTokenMs;
    let fullAt = typeof this.#bucket === "object" ? this.#bucket.fullAt : latest;
    // A rejected request takes no token.
    if (isOverLimit) fullAt -= perTokenMs;
    if (fullAt < earliest) fullAt += Math.ceil((earliest - fullAt) / perTokenMs) * perTokenMs;
    this.#bucket = { maxTokens, perTokenMs, fullAt: Math.min(fullAt, latest) };
  }
}

function tooLateError({ maxWaitMs }: QueuedCall, cause: unknown): StorefrontFailure {
  const message = `the key's rate limit would keep this call waiting longer than \`maxRateLimitWait\` (${maxWaitMs} ms)`;
  return new StorefrontFailure("rate-limit", message, { cause });
}
