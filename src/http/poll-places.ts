// The places of the requests that wait for a change: which key has how many, and which request makes room when none is left. Every operation
// takes as long with many requests as with few.

import { Refusal } from "../model/errors.ts";
import { Queue, QueueEntry } from "../wire/round-robin.ts";
import type { Key } from "./directory.ts";

/** A request that waits. */
interface Waiting {
  /** Ends it without a change. Must not throw. */
  run(): void;
}

interface Place {
  readonly request: Waiting;
  readonly holder: QueueEntry<Holder>;
}

/** A key whose requests wait. */
interface Holder {
  readonly key: number;
  /** The longest waiting first. */
  readonly places: Queue<Place>;
}

/** Seconds after which a client that may not wait now should ask again. */
const retryAfter = 5;

export class PollPlaces {
  readonly #max: number;
  readonly #holders = new Map<number, QueueEntry<Holder>>();
  /** The keys that have a certain number of places, by this number. */
  readonly #byCount = new Map<number, Queue<Holder>>();
  /** Places of the key that has the most. */
  #most = 0;
  #size = 0;
  /** Requests that ended for one of a key that has no fewer places, since a time in milliseconds. */
  #displaced = 0;
  #displacedSince = 0;

  /** @param max places of all keys together */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Gives `request` a place. If none is left, the longest waiting request of the key with the most places ends.
   * @returns what to release when it has ended
   * @throws Refusal `too-many-requests` when the key has all places, or when the clients of all keys displace each other too often
   */
  take({ id, prefix }: Key, request: Waiting): QueueEntry<Place> {
    const own = this.#holders.get(id);
    const count = own?.member.places.size ?? 0;
    if (count >= this.#max) {
      throw refusal(`${count} requests with the API key ${prefix}... wait already`);
    }
    if (this.#size >= this.#max) this.#endLongest(this.#whoMakesRoom(own, count));
    const holder = this.#holders.get(id) ?? new QueueEntry<Holder>({ key: id, places: new Queue() });
    const place = new QueueEntry<Place>({ request, holder });
    this.#unlist(holder);
    holder.member.places.add(place);
    this.#size++;
    this.#list(holder);
    return place;
  }

  release(place: QueueEntry<Place>): void {
    const { holder } = place.member;
    const { places } = holder.member;
    if (!places.has(place)) return;
    this.#unlist(holder);
    places.delete(place);
    this.#size--;
    this.#list(holder);
  }

  /** Ends the longest waiting request of the key with the most places. Returns whether there was one. */
  endOne(): boolean {
    const holder = this.#byCount.get(this.#most)?.first;
    if (holder) this.#endLongest(holder);
    return holder !== undefined;
  }

  /** @param own the key of the new request, which has `count` places */
  #whoMakesRoom(own: QueueEntry<Holder> | undefined, count: number): QueueEntry<Holder> {
    const most = this.#byCount.get(this.#most)?.first as QueueEntry<Holder>;
    if (this.#most > count + 1) return most;
    this.#countDisplaced();
    return own ?? most;
  }

  /**
   * When the places are divided equally, clients that ask again as soon as they are ended would displace each other all the time. So in 5
   * seconds, only as many are displaced as there are places.
   */
  #countDisplaced(): void {
    const now = performance.now();
    if (now - this.#displacedSince >= retryAfter * 1000) {
      this.#displacedSince = now;
      this.#displaced = 0;
    }
    if (this.#displaced >= this.#max) throw refusal(`${this.#size} requests of all API keys wait already`);
    this.#displaced++;
  }

  #endLongest(holder: QueueEntry<Holder>): void {
    const longest = holder.member.places.first as QueueEntry<Place>;
    this.release(longest);
    longest.member.request.run();
  }

  /** Adds a key to those with as many places. */
  #list(holder: QueueEntry<Holder>): void {
    const { key, places } = holder.member;
    if (places.isEmpty) return void this.#holders.delete(key);
    this.#holders.set(key, holder);
    const queue = this.#byCount.get(places.size) ?? new Queue<Holder>();
    queue.add(holder);
    this.#byCount.set(places.size, queue);
    this.#most = Math.max(this.#most, places.size);
  }

  /** Deletes a key from those with as many places, before it has one more or less. */
  #unlist(holder: QueueEntry<Holder>): void {
    const { size } = holder.member.places;
    const queue = this.#byCount.get(size);
    queue?.delete(holder);
    if (!queue?.isEmpty) return;
    this.#byCount.delete(size);
    if (this.#most === size) this.#most = size - 1;
  }
}

function refusal(detail: string): Refusal {
  return new Refusal("too-many-requests", `${detail}; use fewer connections, or a key for each client`, { retryAfter });
}
