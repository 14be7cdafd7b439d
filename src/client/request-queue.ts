// Lets the requests of a client wait, in the order of the calls, so that its key stays below its rate limit.
//
// The server has a bucket of tokens for each key: a request takes one token, and the bucket fills at a fixed rate. The client computes the same
// bucket from `RateLimit-Policy`, and corrects it by the `RateLimit` of each response, because other programs can use the key too. As on the server, the
// bucket is stored as the time at which it is full.
//
// A batch request takes more tokens, and the server then says that the bucket lacks more than all its tokens. Until it has one again, no request is sent.
//
// Before the first response, the limit is unknown: the client then sends at most four requests at once. Without a limit, no request waits.
//
// Invariants:
// - A request is sent only before the requests of later calls. A call whose request was rejected (429) waits before all later calls.
// - A call waits until its deadline at most, and ends at once if its signal is aborted. At most 100,000 calls wait.
// - Long polls take tokens as other requests do. They delay no other request, because they are not counted among the four.

import { maxDelayMs, type RateLimit } from "./options.ts";
import { parseRateLimit } from "./rate-limit.ts";
import { StorefrontFailure, toMilliseconds } from "./storefront-errors.ts";
import { backOff } from "./wait.ts";

/** A call, which needs a permit for each of its attempts. */
interface QueuedCall {
  /** The position among all calls of the client. */
  readonly order: number;
  readonly signal: AbortSignal | undefined;
  /** Maximum milliseconds that a call waits, from its beginning. 0: its requests are sent without a permit of the queue. */
  readonly maxWaitMs: number;
  /** When the call has waited for `maxWaitMs`, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** Whether the server may delay the response until there is a change. */
  readonly isLongPoll: boolean;
}

/** The permission to send a request. */
interface Permit {
  readonly isLongPoll: boolean;
  /** When it was given, in milliseconds of `performance.now()`. */
  readonly sentAt: number;
  /** The number of requests that were sent before. */
  readonly sentBefore: number;
  /** The number of requests that were in flight when it was given. */
  readonly inFlight: number;
  /** Whether the server rejected the request because the key had no token. */
  isOverLimit: boolean;
  isReleased: boolean;
}

/** The bucket of the key. It lacks one token for each `perTokenMs` until `fullAt`. */
interface Bucket {
  readonly maxTokens: number;
  readonly perTokenMs: number;
  fullAt: number;
}

interface Waiter {
  readonly call: QueuedCall;
  readonly start: () => void;
}

/** Maximum requests in flight, besides long polls, while the limit is unknown. A browser opens six connections to a host. */
const maxUnknown = 4;
const maxWaiting = 100_000;
/** Milliseconds that a token must be there before a request takes it, because requests take different times to reach the server. */
const marginMs = 25;

export class RequestQueue {
  #calls = 0;
  #sent = 0;
  #inFlight = 0;
  /** Requests in flight besides long polls. */
  #shortInFlight = 0;
  #bucket: Bucket | "unknown" | "unlimited" = "unknown";
  /** No request is sent before this time, because the server has rejected one. */
  #blockedUntil = 0;
  /** In the order of the calls. */
  readonly #waiting: Waiter[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  createCall(signal: AbortSignal | undefined, maxWaitMs: number, isLongPoll: boolean): QueuedCall {
    return { order: this.#calls++, signal, maxWaitMs, deadline: performance.now() + maxWaitMs, isLongPoll };
  }

  /**
   * Waits until the call may send a request.
   * @param cause why the last request of the call failed
   * @throws StorefrontFailure if the call would wait for too long, and the reason of its signal if that is aborted
   */
  async acquire(call: QueuedCall, cause?: unknown): Promise<Permit> {
    if (call.maxWaitMs === 0) return this.#send(call);
    call.signal?.throwIfAborted();
    const index = this.#indexOf(call);
    const waitMs = this.#waitOf(call, index);
    if (index === 0 && waitMs <= 0) return this.#send(call);
    if (Number.isFinite(waitMs) && performance.now() + waitMs > call.deadline) throw tooLateError(call, cause);
    if (this.#waiting.length >= maxWaiting) {
      throw new StorefrontFailure("rate-limit", `${maxWaiting} calls of this client wait already`, { cause });
    }
    return this.#enqueue(call, index, cause);
  }

  /** Returns the milliseconds until the call could send another request; Infinity if that depends on a response. */
  waitFor(call: QueuedCall): number {
    return Math.max(0, this.#waitOf(call, this.#indexOf(call)));
  }

  /** Takes a permit back when the response has begun, or without one if the attempt failed. Does nothing the second time. */
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

  /** Returns the index in the queue before all later calls. */
  #indexOf({ order }: QueuedCall): number {
    const index = this.#waiting.findLastIndex(({ call }) => call.order < order);
    return index + 1;
  }

  /** @param index the number of calls that wait before this one */
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
      const abort = () => leave(signal?.reason);
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

  /** Starts the calls that need not wait any longer. Sets the timer for the next one. */
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

  /** Corrects the bucket by a response. */
  #learn(permit: Permit, { status, headers }: Response): void {
    const limit = parseRateLimit(headers);
    if (!limit) {
      // A proxy responds without the fields if it cannot reach the server.
      if (status < 500 && status !== 429) this.#bucket = "unlimited";
      return;
    }
    permit.isOverLimit = status === 429 && limit.remaining === 0;
    this.#correct(permit, limit.limit, limit.window / limit.limit, limit.remaining);
    // Both are rounded to seconds.
    if (limit.reset > limit.window + 1000) this.#waitForDebt(limit);
    if (!permit.isOverLimit) return;
    const retryAfterMs = toMilliseconds(headers.get("Retry-After")) ?? 0;
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + retryAfterMs + backOff(1));
  }

  /** After a batch request, the bucket can lack more tokens than it has: requests wait until it has paid this debt. */
  #waitForDebt({ limit, window, reset }: RateLimit): void {
    const fullAt = performance.now() + reset;
    if (typeof this.#bucket === "object") this.#bucket.fullAt = fullAt;
    this.#blockedUntil = Math.max(this.#blockedUntil, fullAt - ((limit - 1) * window) / limit);
  }

  /**
   * Corrects the time at which the bucket is full again. The server says that the bucket had `remaining` whole tokens when it counted the request, and
   * perhaps a part of another token. The client does not know when that was, so the time is between two limits:
   * - `earliest`: the server counted this request when it was sent, and no other request after it.
   * - `latest`: the server counted this request now, and after it all requests of this client that were in flight at the same time.
   *
   * A time before `earliest` moves by whole tokens, because other programs with the same key take whole tokens.
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
    // The server took no token for a request that it rejected.
    if (isOverLimit) fullAt -= perTokenMs;
    if (fullAt < earliest) fullAt += Math.ceil((earliest - fullAt) / perTokenMs) * perTokenMs;
    this.#bucket = { maxTokens, perTokenMs, fullAt: Math.min(fullAt, latest) };
  }
}

function tooLateError({ maxWaitMs }: QueuedCall, cause: unknown): StorefrontFailure {
  const message = `the rate limit of the key would make this call wait for longer than \`maxRateLimitWait\` (${maxWaitMs} ms)`;
  return new StorefrontFailure("rate-limit", message, { cause });
}
