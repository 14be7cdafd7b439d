// Token buckets for rate limits, each named after an API key or a client network, for example.

import { LinkedQueue, QueueEntry } from "./linked-queue.ts";

export interface Limit {
  readonly tokensPerSecond: number;
  readonly maxTokens: number;
}

/** Exported for the test. */
export const maxBuckets = 100_000;
/** How many buckets we look at for each new one, and how many full ones we evict. Evicting more than one cleans up after an attack. */
const [maxExamined, maxEvicted] = [16, 2];
/** Allows for rounding errors. */
const toleranceMs = 1e-3;

/** Stored as the time when the bucket will be full. It lacks one token, debt included, for each `1 / rate` seconds until then. */
interface Bucket<Name> {
  /** Undefined for the shared bucket. */
  readonly name: Name | undefined;
  /** Milliseconds since the first call. */
  fullAt: number;
  /** How much longer than a whole bucket it takes to fill: the debt from `addDebt`. */
  debtMs: number;
}

/**
 * Keeps at most `max` buckets. Full ones can be evicted, because a new bucket is full too. We look at a few in rotation, least recently used first. If we're
 * at `max` and none of those is full, new names share one bucket.
 */
export class TokenBuckets<Name> {
  readonly #max: number;
  readonly #buckets = new Map<Name | undefined, QueueEntry<Bucket<Name>>>();
  /** The same buckets, in the order we look at them. */
  readonly #rotation = new LinkedQueue<Bucket<Name>>();
  readonly #shared: Bucket<Name> = { name: undefined, fullAt: 0, debtMs: 0 };
  /** When the first call was made. Times count from it, because milliseconds since 1970 leave too few fractional digits to add up tokens. */
  #origin: number | undefined;

  constructor(max = maxBuckets) {
    this.#max = max;
  }

  get size(): number {
    return this.#rotation.size;
  }

  /** Takes a token. Returns how many whole tokens are left; undefined if there was none. @param at milliseconds since 1970 */
  consumeToken(name: Name, { tokensPerSecond, maxTokens }: Limit, at: number): number | undefined {
    this.#origin ??= at;
    const now = at - this.#origin;
    const bucket = this.#use(name, now);
    const perTokenMs = 1000 / tokensPerSecond;
    const fillTimeMs = maxTokens * perTokenMs;
    const missingMs = missingIn(bucket, fillTimeMs, now);
    const isEmpty = missingMs + perTokenMs > fillTimeMs + toleranceMs;
    bucket.fullAt = now + missingMs + (isEmpty ? 0 : perTokenMs);
    bucket.debtMs = Math.max(0, missingMs - fillTimeMs);
    return isEmpty
      ? undefined
      : Math.max(0, Math.floor((fillTimeMs - missingMs - perTokenMs + toleranceMs) / perTokenMs));
  }

  /**
   * Takes `tokens` even if the bucket has fewer; the rest is debt, which is refilled first. Returns how many tokens are missing, debt included, so more than
   * `maxTokens` means debt. Pass 0 just to get that number. The shared bucket never has debt, because others would have to pay it too.
   * @param at milliseconds since 1970
   */
  addDebt(name: Name, tokens: number, { tokensPerSecond, maxTokens }: Limit, at: number): number {
    this.#origin ??= at;
    const now = at - this.#origin;
    const bucket = this.#use(name, now);
    const perTokenMs = 1000 / tokensPerSecond;
    const fillTimeMs = maxTokens * perTokenMs;
    const wantedMs = missingIn(bucket, fillTimeMs, now) + tokens * perTokenMs;
    const missingMs = bucket === this.#shared ? Math.min(wantedMs, fillTimeMs) : wantedMs;
    bucket.fullAt = now + missingMs;
    bucket.debtMs = Math.max(0, missingMs - fillTimeMs);
    return missingMs / perTokenMs;
  }

  #use(name: Name, now: number): Bucket<Name> {
    const entry = this.#buckets.get(name);
    if (!entry) return this.#add(name, now) ?? this.#shared;
    this.#rotation.delete(entry);
    this.#rotation.add(entry);
    return entry.member;
  }

  /** Adds a full bucket. Returns undefined if there's no room for it. */
  #add(name: Name, now: number): Bucket<Name> | undefined {
    let evicted = 0;
    for (let count = Math.min(maxExamined, this.size); count > 0 && evicted < maxEvicted; count--) {
      const entry = this.#rotation.first as QueueEntry<Bucket<Name>>;
      this.#rotation.delete(entry);
      if (entry.member.fullAt > now) this.#rotation.add(entry);
      else {
        this.#buckets.delete(entry.member.name);
        evicted++;
      }
    }
    if (this.size >= this.#max) return undefined;
    const entry = new QueueEntry<Bucket<Name>>({ name, fullAt: now, debtMs: 0 });
    this.#buckets.set(name, entry);
    this.#rotation.add(entry);
    return entry.member;
  }
}

/**
 * Returns the milliseconds until a bucket is full. At most, all its tokens and its debt are missing; `fullAt` can be later than that if the clock was set
 * back or the limit has changed.
 */
function missingIn({ fullAt, debtMs }: Bucket<unknown>, fillTimeMs: number, now: number): number {
  return Math.min(Math.max(0, fullAt - now), fillTimeMs + debtMs);
}
