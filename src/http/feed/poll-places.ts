// Limits the number of long polls in a process, and divides the places fairly between the API keys.
//
// If all places are taken, a new poll ends the longest waiting poll of the key with the most places. So the keys converge to equal shares. If the new
// poll's key has its share already, that key's own longest waiting poll ends. The clients of ended polls ask again, so in 5 seconds at most as many
// polls are ended in this way as there are places. Every operation takes constant time, however many polls wait.

import { LinkedQueue, QueueEntry } from "../../lib/linked-queue.ts";
import { ProblemError } from "../../model/errors.ts";
import type { ApiKey } from "../../system/system-records.ts";

interface EndablePoll {
  /** Ends the poll without a change. Must not throw. */
  end(): void;
}

interface Place {
  readonly poll: EndablePoll;
  readonly holder: QueueEntry<Holder>;
}

interface Holder {
  readonly key: number;
  /** The places of the key, the longest waiting poll first. */
  readonly places: LinkedQueue<Place>;
}

/** `Retry-After` for a client that does not get a place, in seconds. Also the time after which the count of displaced polls begins again. */
const retryAfterSeconds = 5;

export class PollPlaces {
  readonly #max: number;
  readonly #holders = new Map<number, QueueEntry<Holder>>();
  /** The keys by their number of places. */
  readonly #byCount = new Map<number, LinkedQueue<Holder>>();
  /** The number of places of the key that has the most. */
  #most = 0;
  #size = 0;
  /** The number of displaced polls: polls that were ended for a key that has its share already. Counted since the time below (as `performance.now()`). */
  #displaced = 0;
  #displacedSince = 0;

  /** @param max the number of places, for all keys together */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Gives a place to a new poll. If all places are taken, ends another poll first.
   * @returns the place, to release when the poll has ended
   * @throws ProblemError `too-many-requests` if the key has all places, or if too many polls were ended for keys that have their share
   */
  acquire({ id, prefix }: ApiKey, poll: EndablePoll): QueueEntry<Place> {
    const own = this.#holders.get(id);
    const count = own?.member.places.size ?? 0;
    if (count >= this.#max) {
      throw noPlaceError(`${count} requests with the API key ${prefix}... wait already`);
    }
    if (this.#size >= this.#max) this.#endLongest(this.#chooseHolder(own, count));
    const holder = this.#holders.get(id) ?? new QueueEntry<Holder>({ key: id, places: new LinkedQueue() });
    const place = new QueueEntry<Place>({ poll, holder });
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

  /** Ends the longest waiting poll of the key with the most places. Returns false if nothing waits. */
  endOne(): boolean {
    const holder = this.#byCount.get(this.#most)?.first;
    if (holder) this.#endLongest(holder);
    return holder !== undefined;
  }

  /**
   * Returns the key that must end a poll for a new poll. If a key has at least two places more than the new poll's key, it is the key with the most
   * places. Otherwise it is the new poll's own key; if that has no place, any key with the most places.
   * @param own the key of the new poll, which has `count` places
   * @throws ProblemError `too-many-requests`
   */
  #chooseHolder(own: QueueEntry<Holder> | undefined, count: number): QueueEntry<Holder> {
    const most = this.#byCount.get(this.#most)?.first as QueueEntry<Holder>;
    if (this.#most > count + 1) return most;
    this.#countDisplaced();
    return own ?? most;
  }

  /**
   * Counts a poll that is ended for a key that has its share already. When the places are divided equally, clients that ask again as soon as their
   * poll has ended would end each other's polls all the time. So in 5 seconds, at most as many polls are ended as there are places.
   * @throws ProblemError `too-many-requests` when that number is reached
   */
  #countDisplaced(): void {
    const now = performance.now();
    if (now - this.#displacedSince >= retryAfterSeconds * 1000) {
      this.#displacedSince = now;
      this.#displaced = 0;
    }
    if (this.#displaced >= this.#max) throw noPlaceError(`${this.#size} requests of all API keys wait already`);
    this.#displaced++;
  }

  #endLongest(holder: QueueEntry<Holder>): void {
    const longest = holder.member.places.first as QueueEntry<Place>;
    this.release(longest);
    longest.member.poll.end();
  }

  /** Adds a key to the queue of its number of places, after that number has changed. */
  #list(holder: QueueEntry<Holder>): void {
    const { key, places } = holder.member;
    if (places.isEmpty) return void this.#holders.delete(key);
    this.#holders.set(key, holder);
    const queue = this.#byCount.get(places.size) ?? new LinkedQueue<Holder>();
    queue.add(holder);
    this.#byCount.set(places.size, queue);
    this.#most = Math.max(this.#most, places.size);
  }

  /** Deletes a key from the queue of its number of places, before that number changes. */
  #unlist(holder: QueueEntry<Holder>): void {
    const { size } = holder.member.places;
    const queue = this.#byCount.get(size);
    queue?.delete(holder);
    if (!queue?.isEmpty) return;
    this.#byCount.delete(size);
    if (this.#most === size) this.#most = size - 1;
  }
}

function noPlaceError(detail: string): ProblemError {
  return new ProblemError("too-many-requests", `${detail}; use fewer connections, or a key for each client`, {
    retryAfterSeconds,
  });
}
