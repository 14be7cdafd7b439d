// Limits the long polls in a process, and shares the places fairly between API keys.
//
// Once all places are taken, a new poll ends the longest-waiting poll of the key with the most places, so keys converge to equal shares. If the new poll's
// key already has its share, its own longest-waiting poll ends instead. Since those clients ask again, at most as many polls are displaced that way
// in 5 seconds as there are places. Every operation takes constant time, however many polls there are.

import { LinkedQueue, QueueEntry } from "../../lib/linked-queue.ts";
import { ProblemError } from "../../model/errors.ts";
import type { ApiKey } from "../../system/system-records.ts";

interface EndablePoll {
  /** Ends the poll without a change. Mustn't throw. */
  end(): void;
}

interface Place {
  readonly poll: EndablePoll;
  readonly holder: QueueEntry<Holder>;
}

interface Holder {
  readonly key: number;
  /** Longest-waiting poll first. */
  readonly places: LinkedQueue<Place>;
}

/** For clients that don't get a place. Also how often the count of displaced polls starts over. */
const retryAfterSeconds = 5;

export class PollPlaces {
  readonly #max: number;
  readonly #holders = new Map<number, QueueEntry<Holder>>();
  /** Keys by how many places they have. */
  readonly #byCount = new Map<number, LinkedQueue<Holder>>();
  /** How many places the key with the most has. */
  #most = 0;
  #size = 0;
  /** Polls displaced for a key that already had its share, since `#displacedSince` (by `performance.now()`). */
  #displaced = 0;
  #displacedSince = 0;

  /** @param max places for all keys together */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Gives a new poll a place, ending another poll first if all are taken.
   * @returns the place, which must be released when the poll has ended
   * @throws ProblemError `too-many-requests` if the key has all places, or too many polls were displaced for keys that already had their share
   */
  acquire({ id, prefix }: ApiKey, poll: EndablePoll): QueueEntry<Place> {
    const own = this.#holders.get(id);
    const count = own?.member.places.size ?? 0;
    if (count >= this.#max) {
      throw noPlaceError(`the API key ${prefix}... already has ${count} long polls open`);
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

  /** Ends the longest-waiting poll of the key with the most places. Returns false if there are none. */
  endOne(): boolean {
    const holder = this.#byCount.get(this.#most)?.first;
    if (holder) this.#endLongest(holder);
    return holder !== undefined;
  }

  /**
   * Picks the key that has to give up a poll for a new one: the key with the most places if it has at least two more than the new poll's key, which otherwise
   * gives up one of its own. If it has none, any key with the most places.
   * @param own the new poll's key, which has `count` places
   * @throws ProblemError `too-many-requests`
   */
  #chooseHolder(own: QueueEntry<Holder> | undefined, count: number): QueueEntry<Holder> {
    const most = this.#byCount.get(this.#most)?.first as QueueEntry<Holder>;
    if (this.#most > count + 1) return most;
    this.#countDisplaced();
    return own ?? most;
  }

  /**
   * Counts a poll displaced for a key that already has its share. Without this limit, once places are shared equally, clients that ask again as soon as
   * their poll ends would keep displacing each other.
   * @throws ProblemError `too-many-requests` once as many were displaced in 5 seconds as there are places
   */
  #countDisplaced(): void {
    const now = performance.now();
    if (now - this.#displacedSince >= retryAfterSeconds * 1000) {
      this.#displacedSince = now;
      this.#displaced = 0;
    }
    if (this.#displaced >= this.#max) throw noPlaceError(`this server already has ${this.#size} long polls open`);
    this.#displaced++;
  }

  #endLongest(holder: QueueEntry<Holder>): void {
    const longest = holder.member.places.first as QueueEntry<Place>;
    this.release(longest);
    longest.member.poll.end();
  }

  /** Adds a key to the queue for its number of places, after that has changed. */
  #list(holder: QueueEntry<Holder>): void {
    const { key, places } = holder.member;
    if (places.isEmpty) return void this.#holders.delete(key);
    this.#holders.set(key, holder);
    const queue = this.#byCount.get(places.size) ?? new LinkedQueue<Holder>();
    queue.add(holder);
    this.#byCount.set(places.size, queue);
    this.#most = Math.max(this.#most, places.size);
  }

  /** Removes a key from the queue for its number of places, before that changes. */
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
  return new ProblemError("too-many-requests", `${detail}; use fewer, or give each client its own key`, {
    retryAfterSeconds,
  });
}
