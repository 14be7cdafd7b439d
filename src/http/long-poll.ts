// Requests that wait for the next change of their site. A waiting request costs memory, and nothing else until the site changes: then its key
// and site are checked again, and it reads again.

import { FairQueue, type FairWork } from "../lib/event-loop.ts";
import type { Head } from "../model/engine.ts";
import { systemSite } from "../model/limits.ts";
import type { SiteWatch } from "../store/changes/site-change-notifier.ts";
import { isSameHead } from "../store/database/site-state.ts";
import type { Admission } from "./authorizer.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./handler.ts";
import { PollPlaces } from "./poll-places.ts";

/** What a request has read of its site. */
export interface Reading {
  readonly site: number;
  /** The head of the site of which it was read. */
  readonly head: Head;
  /** The head of the system site when the key was last checked. */
  readonly system: Head;
  /** Whether there is something to return, so that the request waits no longer. */
  readonly isEnough: boolean;
}

interface PollOptions<R extends Reading> {
  readonly key: Key;
  /** How long to wait, in milliseconds. */
  readonly wait: number;
  /** What was read first. */
  readonly first: R;
  /**
   * Reads again and then checks the key and the site again.
   * @param head that the site has reached
   */
  readonly read: (last: R, head: Head) => Promise<R>;
}

interface PollDependencies {
  readonly siteWatch: Pick<SiteWatch, "watch">;
  readonly admission: Pick<Admission, "readmit" | "recheck">;
}

/** A request that waits, of which every `run` is its end. */
interface Waiting extends FairWork {
  readonly site: number;
}

export class Polls {
  readonly #places: PollPlaces;
  readonly #dependencies: PollDependencies;
  readonly #waiting = new Set<Waiting>();
  /** Those that end without a change, by site. Clients that came together also end or go away together. */
  readonly #ends = new FairQueue<number>();
  #isStopped = false;

  /** @param connections that this process accepts; the polls of all keys together have half of them at most */
  constructor(connections: number, dependencies: PollDependencies) {
    this.#places = new PollPlaces(Math.max(1, Math.floor(connections / 2)));
    this.#dependencies = dependencies;
  }

  /** How many requests wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a reading is enough, the time is over, the client has ended its side of the connection, its place is needed, or the server
   * stops. Returns the last reading.
   * @throws Refusal `too-many-requests` when too many requests wait already, those of the checks, or what `read` throws
   */
  async wait<R extends Reading>(exchange: Exchange, options: PollOptions<R>): Promise<R> {
    const { key, wait, first } = options;
    if (this.#isStopped) return first;
    const { siteWatch, admission } = this.#dependencies;
    const poll = new Poll(exchange, options, admission);
    const place = this.#places.take(key, poll);
    const started = performance.now();
    exchange.request.dropBody();
    this.#waiting.add(poll);
    const timer = setTimeout(() => this.#ends.add(first.site, poll), wait);
    const stops: (() => void)[] = [];
    try {
      stops.push(siteWatch.watch(first.site, first.head, (head) => poll.goOn(head)));
      stops.push(siteWatch.watch(systemSite, first.system, () => poll.goOn()));
      exchange.request.onClientEnd(() => this.#ends.add(first.site, poll));
      return await poll.ended;
    } finally {
      clearTimeout(timer);
      for (const stop of stops) stop();
      this.#waiting.delete(poll);
      this.#places.release(place);
      exchange.waited += performance.now() - started;
    }
  }

  /** Ends the longest waiting request of the key that has the most, to make room for a new connection. Returns whether there was one. */
  makeRoom(): boolean {
    return this.#places.endOne();
  }

  /** Ends all that wait, some in each turn of the event loop. From now on, no request waits. */
  stop(): void {
    this.#isStopped = true;
    for (const poll of this.#waiting) this.#ends.add(poll.site, poll);
  }
}

class Poll<R extends Reading> implements Waiting {
  readonly #exchange: Exchange;
  readonly #read: PollOptions<R>["read"];
  readonly #admission: PollDependencies["admission"];
  readonly #result = Promise.withResolvers<R>();
  #last: R;
  /** What the site has reached. */
  #head: Head;
  #running: Promise<void> | undefined;
  /** Whether a change came during the work under way. */
  #isDue = false;
  #hasEnded = false;

  constructor(exchange: Exchange, { first, read }: PollOptions<R>, admission: PollDependencies["admission"]) {
    this.#exchange = exchange;
    this.#read = read;
    this.#admission = admission;
    this.#last = first;
    this.#head = first.head;
  }

  get site(): number {
    return this.#last.site;
  }

  get ended(): Promise<R> {
    return this.#result.promise;
  }

  /** To be called after a change of its site, to `head`, or of the system site. */
  goOn(head = this.#head): Promise<void> {
    this.#head = head;
    this.#isDue = true;
    this.#running ??= this.#goOn();
    return this.#running;
  }

  /** Ends it with what was read last. The key may have expired meanwhile. */
  run(): void {
    this.#end(() => {
      this.#admission.recheck(this.#exchange, this.site);
      this.#result.resolve(this.#last);
    });
  }

  async #goOn(): Promise<void> {
    try {
      while (this.#isDue && !this.#hasEnded) {
        this.#isDue = false;
        await this.#checkOrRead();
        if (this.#last.isEnough) this.#end(() => this.#result.resolve(this.#last));
      }
    } catch (error) {
      this.#end(() => this.#result.reject(error));
    }
    this.#running = undefined;
  }

  async #checkOrRead(): Promise<void> {
    if (isSameHead(this.#head, this.#last.head)) await this.#admission.readmit(this.#exchange, () => {});
    else this.#last = await this.#read(this.#last, this.#head);
  }

  #end(how: () => void): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    try {
      how();
    } catch (error) {
      this.#result.reject(error);
    }
  }
}
