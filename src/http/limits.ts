// Token buckets: one per key, and one per client address for keys that were refused.

import { Refusal } from "../model/errors.ts";

export interface Limit {
  /** Tokens that come back per second. */
  readonly rate: number;
  /** Tokens in a full bucket. */
  readonly burst: number;
}

/** Most buckets that are kept. */
export const mostBuckets = 100_000;
/** How many full buckets are forgotten for each new one: more than one, so that few are left of an attack. */
const forgottenAtOnce = 2;

/** A bucket is a moment: that at which it is full again. Until then tokens are missing, one for each `1 / rate` seconds. */
interface Bucket<Name> {
  /** Undefined for the one that is shared. */
  readonly name: Name | undefined;
  /** Milliseconds since the first call. */
  fullAt: number;
  /** Its place in the heap. */
  index: number;
}

/**
 * At most `most` buckets. A full bucket is as good as none, so those that are full by now make room for new ones; a name
 * that comes while there is none of them shares one bucket with all others that do. Each call takes time that grows with
 * the logarithm of the number of buckets.
 */
export class Buckets<Name> {
  readonly #most: number;
  readonly #buckets = new Map<Name, Bucket<Name>>();
  /** The same as a binary heap: the one that is full first comes first, each comes before those at `2 i + 1` and `2 i + 2`. */
  readonly #heap: Bucket<Name>[] = [];
  readonly #shared: Bucket<Name> = { name: undefined, fullAt: 0, index: -1 };
  /** When the first call was: counted from 1970, a millisecond has too few fractions to add up a second's tokens. */
  #origin: number | undefined;

  constructor(most = mostBuckets) {
    this.#most = most;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Takes a token and says how many whole ones are left; undefined when there was none. @param at milliseconds since 1970 */
  take(name: Name, { rate, burst }: Limit, at: number): number | undefined {
    this.#origin ??= at;
    const now = at - this.#origin;
    const bucket = this.#buckets.get(name) ?? this.#add(name, now) ?? this.#shared;
    const lasting = 1000 / rate;
    const wholeFill = burst * lasting;
    // Never further away than an empty bucket takes: the clock may have been put back, or the limit changed.
    const missing = Math.min(Math.max(0, bucket.fullAt - now), wholeFill);
    const isEmpty = missing + lasting > wholeFill + tolerance;
    bucket.fullAt = now + missing + (isEmpty ? 0 : lasting);
    if (bucket !== this.#shared) this.#settle(bucket);
    return isEmpty ? undefined : Math.max(0, Math.floor((wholeFill - missing - lasting + tolerance) / lasting));
  }

  /** A new full bucket; undefined when there is no room for it. */
  #add(name: Name, now: number): Bucket<Name> | undefined {
    for (let count = 0; count < forgottenAtOnce; count++) {
      const first = this.#heap[0];
      if (!first || first.fullAt > now) break;
      this.#forget(first);
    }
    if (this.#heap.length >= this.#most) return undefined;
    const bucket = { name, fullAt: now, index: this.#heap.length };
    this.#buckets.set(name, bucket);
    this.#heap.push(bucket);
    return bucket;
  }

  #forget(bucket: Bucket<Name>): void {
    this.#buckets.delete(bucket.name as Name);
    const last = this.#heap.pop() as Bucket<Name>;
    if (last === bucket) return;
    this.#put(last, bucket.index);
    this.#settle(last);
  }

  /** Brings a bucket whose moment has changed to its place. */
  #settle(bucket: Bucket<Name>): void {
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

  /** The one below that is full first. */
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

/** Milliseconds that rounding may make of nothing. */
const tolerance = 1e-3;

/** `RateLimit-Policy` and `RateLimit`, as the IETF's draft on them has it (draft-ietf-httpapi-ratelimit-headers). */
export function rateLimitHeaders({ rate, burst }: Limit, left: number): Record<string, string> {
  const window = Math.max(1, Math.round(burst / rate));
  const refill = Math.ceil((burst - left) / rate);
  return { "RateLimit-Policy": `"key";q=${burst};w=${window}`, RateLimit: `"key";r=${left};t=${refill}` };
}

/** The refusal of a request for which there was no token. */
export function tooManyRequests(limit: Limit, detail: string): Refusal {
  const retryAfter = Math.max(1, Math.ceil(1 / limit.rate));
  return new Refusal("too-many-requests", detail, { retryAfter });
}
