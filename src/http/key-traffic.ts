// Counts the requests of each key by hour, for the overview of the console. A request costs one look-up in a map and one or two additions.

import { type CountedKey, countedHours, hourMs, type KeyTrafficAnswer } from "./common/activity.ts";

/** Maximum number of keys that are counted: 3 MB. A further key replaces the first one. */
const maxKeys = 10_000;

/** Maximum milliseconds between two looks at the wall clock, which can be set. */
const maxCheckPauseMs = 60_000;

/** The requests of each key in the last 24 hours, as this process has answered them. */
export class KeyTraffic {
  readonly #now: () => number;
  readonly #since: number;
  /** By the ID of the key: for each hour of the day its requests, and then for each hour its errors. */
  readonly #counts = new Map<number, Uint32Array>();
  /** The present hour: hours since 1970. */
  #hour: number;
  #index: number;
  /** When to look at the wall clock again, as of `performance.now()`. */
  #checkAt = 0;

  /** @param now returns the time in milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
    this.#hour = Math.floor(this.#since / hourMs);
    this.#index = this.#hour % countedHours;
  }

  /**
   * Counts a response to a request with a known key.
   * @param key ID of the key
   * @param at the present time, as of `performance.now()`
   */
  count(key: number, status: number, at: number): void {
    if (at >= this.#checkAt) this.#checkHour(at);
    const counts = this.#counts.get(key) ?? this.#add(key);
    (counts[this.#index] as number)++;
    if (status >= 400) (counts[this.#index + countedHours] as number)++;
  }

  /** Returns the counts of those of `keys` that were used in the last 24 hours. */
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

  /** Begins a new hour if the last one has ended: clears the counts of the same hours a day ago, and removes the keys that were not used since. */
  #checkHour(at: number): void {
    const now = this.#now();
    const hour = Math.floor(now / hourMs);
    this.#checkAt = at + Math.min(maxCheckPauseMs, (hour + 1) * hourMs - now);
    const passed = hour - this.#hour;
    if (passed === 0) return;
    // After a clock that was set back, nothing is known about the hours.
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
