// Token buckets, for rate limits. Each bucket has a name, such as an API key or a client network.

export interface Limit {
  readonly tokensPerSecond: number;
  readonly maxTokens: number;
}

/** Exported for its test. */
export const maxBuckets = 100_000;
/** Maximum full buckets that are evicted for each new bucket. It is more than one, so that few buckets remain some time after an attack. */
const evictedAtOnce = 2;

/** A bucket is stored as the time at which it is full again. It lacks one token for each `1 / rate` seconds until that time, its debt included. */
interface Bucket<Name> {
  /** Undefined for the shared bucket. */
  readonly name: Name | undefined;
  /** Milliseconds since the first call. */
  fullAt: number;
  /** Milliseconds by which the last call left more than a whole bucket to fill: the debt (`addDebt`). */
  debtMs: number;
  index: number;
}

/**
 * At most `max` buckets. A full bucket can be evicted, because a new bucket is full too. While there are `max` buckets and none is full, all new
 * names share one bucket. A call takes time logarithmic in the number of buckets.
 */
export class TokenBuckets<Name> {
  readonly #max: number;
  readonly #buckets = new Map<Name | undefined, Bucket<Name>>();
  /** The same buckets as a binary heap by `fullAt`, the smallest first: the bucket at index `i` is above the buckets at `2 i + 1` and `2 i + 2`. */
  readonly #heap: Bucket<Name>[] = [];
  readonly #shared: Bucket<Name> = { name: undefined, fullAt: 0, debtMs: 0, index: -1 };
  /** The time of the first call. Times are counted from it, because milliseconds since 1970 have too few fractional digits to add up tokens. */
  #origin: number | undefined;

  constructor(max = maxBuckets) {
    this.#max = max;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Consumes a token. Returns the number of whole tokens that are left; undefined if there was no token. @param at milliseconds since 1970 */
  consumeToken(name: Name, { tokensPerSecond, maxTokens }: Limit, at: number): number | undefined {
    this.#origin ??= at;
    const now = at - this.#origin;
    const bucket = this.#buckets.get(name) ?? this.#add(name, now) ?? this.#shared;
    const perTokenMs = 1000 / tokensPerSecond;
    const fillTimeMs = maxTokens * perTokenMs;
    // A bucket lacks at most all its tokens and its debt. `fullAt` can be later than that if the clock was set back or the limit has changed.
    const missingMs = Math.min(Math.max(0, bucket.fullAt - now), fillTimeMs + bucket.debtMs);
    const isEmpty = missingMs + perTokenMs > fillTimeMs + toleranceMs;
    bucket.fullAt = now + missingMs + (isEmpty ? 0 : perTokenMs);
    bucket.debtMs = Math.max(0, missingMs - fillTimeMs);
    if (bucket !== this.#shared) this.#sift(bucket);
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
    const bucket = this.#buckets.get(name) ?? this.#add(name, now) ?? this.#shared;
    const perTokenMs = 1000 / tokensPerSecond;
    const fillTimeMs = maxTokens * perTokenMs;
    const wantedMs = Math.min(Math.max(0, bucket.fullAt - now), fillTimeMs + bucket.debtMs) + tokens * perTokenMs;
    const missingMs = bucket === this.#shared ? Math.min(wantedMs, fillTimeMs) : wantedMs;
    bucket.fullAt = now + missingMs;
    bucket.debtMs = Math.max(0, missingMs - fillTimeMs);
    if (bucket !== this.#shared) this.#sift(bucket);
    return missingMs / perTokenMs;
  }

  /** Adds a full bucket. Returns undefined if there are `max` buckets, and none of them is full. */
  #add(name: Name, now: number): Bucket<Name> | undefined {
    for (let count = 0; count < evictedAtOnce; count++) {
      const first = this.#heap[0];
      if (!first || first.fullAt > now) break;
      this.#evict(first);
    }
    if (this.#heap.length >= this.#max) return undefined;
    const bucket = { name, fullAt: now, debtMs: 0, index: this.#heap.length };
    this.#buckets.set(name, bucket);
    this.#heap.push(bucket);
    return bucket;
  }

  #evict(bucket: Bucket<Name>): void {
    this.#buckets.delete(bucket.name);
    const last = this.#heap.pop();
    if (!last || last === bucket) return;
    this.#put(last, bucket.index);
    this.#sift(last);
  }

  #sift(bucket: Bucket<Name>): void {
    for (let above = this.#above(bucket); above && above.fullAt > bucket.fullAt; above = this.#above(bucket)) {
      this.#swap(above, bucket);
    }
    for (let below = this.#below(bucket); below && below.fullAt < bucket.fullAt; below = this.#below(bucket)) {
      this.#swap(bucket, below);
    }
  }

  #above({ index }: Bucket<Name>): Bucket<Name> | undefined {
    return index === 0 ? undefined : this.#heap[(index - 1) >> 1];
  }

  /** Returns that child of a bucket in the heap that is full first. */
  #below({ index }: Bucket<Name>): Bucket<Name> | undefined {
    const left = this.#heap[2 * index + 1];
    const right = this.#heap[2 * index + 2];
    return left && right && right.fullAt < left.fullAt ? right : left;
  }

  #swap(above: Bucket<Name>, below: Bucket<Name>): void {
    const { index } = above;
    this.#put(above, below.index);
    this.#put(below, index);
  }

  #put(bucket: Bucket<Name>, index: number): void {
    bucket.index = index;
    this.#heap[index] = bucket;
  }
}

/** Maximum rounding error of a time, in milliseconds. */
const toleranceMs = 1e-3;
