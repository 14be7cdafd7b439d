// Token buckets, for rate limits. Each bucket has a name, such as an API key or a client network.

import { LinkedQueue, QueueEntry } from "./linked-queue.ts";

export interface Limit {
  readonly tokensPerSecond: number;
  readonly maxTokens: number;
}

/** Exported for its test. */
export const maxBuckets = 100_000;
/** Maximum buckets that are examined for each new bucket, and maximum full ones of these that are evicted. More than one, so that few remain after an attack. */
const [maxExamined, maxEvicted] = [16, 2];
/** Maximum rounding error of a time, in milliseconds. */
const toleranceMs = 1e-3;

/** A bucket is stored as the time at which it is full again. It lacks one token for each `1 / rate` seconds until that time, its debt included. */
interface Bucket<Name> {
  /** Undefined for the shared bucket. */
  readonly name: Name | undefined;
  /** Milliseconds since the first call. */
  fullAt: number;
  /** Milliseconds by which the last call left more than a whole bucket to fill: the debt (`addDebt`). */
  debtMs: number;
}

/**
 * At most `max` buckets. A full bucket can be evicted, because a new bucket is full too. While there are `max` buckets and none of the examined ones is
 * full, a new name shares one bucket with others. The buckets are examined in rotation, beginning with the one that was not used for longest.
 */
export class TokenBuckets<Name> {
  readonly #max: number;
  readonly #buckets = new Map<Name | undefined, QueueEntry<Bucket<Name>>>();
  /** The same buckets in the order in which they are examined. */
  readonly #rotation = new LinkedQueue<Bucket<Name>>();
  readonly #shared: Bucket<Name> = { name: undefined, fullAt: 0, debtMs: 0 };
  /** The time of the first call. Times are counted from it, because milliseconds since 1970 have too few fractional digits to add up tokens. */
  #origin: number | undefined;

  constructor(max = maxBuckets) {
    this.#max = max;
  }

  get size(): number {
    return this.#rotation.size;
  }

  /** Consumes a token. Returns the number of whole tokens that are left; undefined if there was no token. @param at milliseconds since 1970 */
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
   * Takes `tokens` also if the bucket has fewer: the rest is its debt, which refills first. Returns the number of tokens that the bucket lacks then, with
   * its debt: more than `maxTokens` while there is debt. With 0 tokens, only reports that number. The shared bucket has no debt, because it would be that of
   * others too.
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

  /** Adds a full bucket. Returns undefined if there are `max` buckets, and none that was examined is full. */
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
 * Returns the milliseconds until a bucket is full. It lacks at most all its tokens and its debt; `fullAt` can be later than that if the clock was set back
 * or the limit has changed.
 */
function missingIn({ fullAt, debtMs }: Bucket<unknown>, fillTimeMs: number, now: number): number {
  return Math.min(Math.max(0, fullAt - now), fillTimeMs + debtMs);
}
