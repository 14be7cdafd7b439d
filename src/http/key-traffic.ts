// Counts each key's requests by hour, for the console's overview. That costs a request one map look-up and one or two additions.

import { type CountedKey, countedHours, hourMs, type KeyTrafficAnswer } from "./common/activity.ts";

/** They take 3 MB. After that, a new key replaces the oldest one. */
const maxKeys = 10_000;

/** How often to look at the wall clock, at least, because someone may set it. */
const maxCheckPauseMs = 60_000;

/** Each key's requests to this process in the last 24 hours. */
export class KeyTraffic {
  readonly #now: () => number;
  readonly #since: number;
  /** By key ID: the requests in each hour of the day, followed by the errors in each hour. */
  readonly #counts = new Map<number, Uint32Array>();
  /** The current hour, counted from 1970. */
  #hour: number;
  #index: number;
  /** When to look at the wall clock again, by `performance.now()`. */
  #checkAt = 0;

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
    this.#hour = Math.floor(this.#since / hourMs);
    this.#index = this.#hour % countedHours;
  }

  /** @param key the key's ID @param at the current `performance.now()` */
  count(key: number, status: number, at: number): void {
    if (at >= this.#checkAt) this.#checkHour(at);
    const counts = this.#counts.get(key) ?? this.#add(key);
    (counts[this.#index] as number)++;
    if (status >= 400) (counts[this.#index + countedHours] as number)++;
  }

  /** Returns the counts of those keys that were used in the last 24 hours. */
  answer(keys: readonly number[]): KeyTrafficAnswer {
    this.#checkHour(performance.now());
    const counted = keys.flatMap((id) => this.#countsOf(id) ?? []);
    return { kind: "key-traffic", since: this.#since, hour: this.#hour, keys: counted };
  }

  #countsOf(id: number): CountedKey | undefined {
    const counts = this.#counts.get(id);
    if (!counts) return undefined;
    const oldestFirst = (start: number) =>
      Array.from({ length: countedHours }, (_, step) => counts[start + ((this.#index + 1 + step) % countedHours)] ?? 0);
    return { id, requests: oldestFirst(0), errors: oldestFirst(countedHours) };
  }

  #add(key: number): Uint32Array {
    if (this.#counts.size >= maxKeys) {
      const [first] = this.#counts.keys();
      this.#counts.delete(first as number);
    }
    const counts = new Uint32Array(2 * countedHours);
    this.#counts.set(key, counts);
    return counts;
  }

  /** Once an hour is over, clears yesterday's counts for the hours since, and removes keys that have no counts left. */
  #checkHour(at: number): void {
    const now = this.#now();
    const hour = Math.floor(now / hourMs);
    this.#checkAt = at + Math.min(maxCheckPauseMs, (hour + 1) * hourMs - now);
    const passed = hour - this.#hour;
    if (passed === 0) return;
    // If the clock was set back, the counts can't be assigned to hours any more.
    if (passed < 0 || passed >= countedHours) this.#counts.clear();
    for (let step = 1; step <= passed && this.#counts.size > 0; step++) this.#clear((this.#hour + step) % countedHours);
    this.#hour = hour;
    this.#index = hour % countedHours;
  }

  #clear(index: number): void {
    for (const [key, counts] of this.#counts) {
      counts[index] = 0;
      counts[index + countedHours] = 0;
      if (counts.every((count) => count === 0)) this.#counts.delete(key);
    }
  }
}
