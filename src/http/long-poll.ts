// Long polls: feed requests that are held until their site changes, their time is over, their client leaves, or the server stops. A long poll may
// also end to make room for another one (poll-places.ts).
//
// While it waits, a poll costs memory and nothing else. A wake-up comes from a change of its site, or of the system site. Then the poll is authorized
// again and, if its site changed, reads the next page. After a page without content, it waits again.
//
// Invariants:
// - Wake-ups that arrive during a read cause one more read, not several at once.
// - A poll is settled once, by the first of these events, and responds only after its key was checked again.
// - All polls together take at most half of the connections. Polls that end together are settled a few per tick.

import { FairQueue, type FairWork } from "../lib/event-loop.ts";
import type { Head } from "../model/engine.ts";
import { systemSite } from "../model/limits.ts";
import type { SiteWatch } from "../store/changes/site-change-notifier.ts";
import { isSameHead } from "../store/database/site-state.ts";
import type { Admission } from "./authorizer.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./handler.ts";
import { PollPlaces } from "./poll-places.ts";

/** The result of one read of a poll. */
export interface Reading {
  /** The ID of the site. */
  readonly site: number;
  /** The head of the site as of the read. */
  readonly head: Head;
  /** The head of the system site when the key was last checked. */
  readonly system: Head;
  /** Whether there is something to return, so that the wait ends. */
  readonly isEnough: boolean;
}

interface PollOptions<R extends Reading> {
  readonly key: Key;
  /** Maximum time to wait, in milliseconds. */
  readonly wait: number;
  /** The result of the first read. */
  readonly first: R;
  /**
   * Reads again, and then authorizes the request again.
   * @param head the head that the site has reached
   */
  readonly read: (last: R, head: Head) => Promise<R>;
}

interface PollDependencies {
  readonly siteWatch: Pick<SiteWatch, "watch">;
  readonly admission: Pick<Admission, "readmit" | "recheck">;
}

/** A long poll in the expiry queue. `run` ends it. */
interface Waiting extends FairWork {
  readonly site: number;
}

/** The long polls of this process. */
export class Polls {
  readonly #places: PollPlaces;
  readonly #dependencies: PollDependencies;
  readonly #waiting = new Set<Waiting>();
  /** Polls that time out or whose clients leave, queued by site. Polls that started together also end together, so a few per tick are ended. */
  readonly #ends = new FairQueue<number>();
  #isStopped = false;

  /** @param connections the maximum number of connections of this process; at most half of them can be long polls */
  constructor(connections: number, dependencies: PollDependencies) {
    this.#places = new PollPlaces(Math.max(1, Math.floor(connections / 2)));
    this.#dependencies = dependencies;
  }

  /** The number of polls that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a read has content, the timeout passes, the client closes its side, another poll needs the place, or the server stops. Returns the
   * result of the last read.
   * @throws ProblemError `too-many-requests` if too many requests wait already; the errors of `reauthorize`, and of `read`
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

  /** Ends the longest waiting poll of the key that has the most polls, to make room for a new connection. Returns false if nothing waits. */
  makeRoom(): boolean {
    return this.#places.endOne();
  }

  /** Ends all polls, a few in each tick of the event loop. Later calls of `waitForContent` return at once. */
  stop(): void {
    this.#isStopped = true;
    for (const poll of this.#waiting) this.#ends.add(poll.site, poll);
  }
}

/** One long poll. */
class Poll<R extends Reading> implements Waiting {
  readonly #exchange: Exchange;
  readonly #read: PollOptions<R>["read"];
  readonly #admission: PollDependencies["admission"];
  readonly #result = Promise.withResolvers<R>();
  #last: R;
  /** The head that the site has reached, as of the last wake-up. */
  #head: Head;
  #running: Promise<void> | undefined;
  /** Whether a wake-up has not been handled yet. */
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

  /** Resolves with the result of the last read when the poll ends. */
  get ended(): Promise<R> {
    return this.#result.promise;
  }

  /** Wakes the poll. @param head the head of its site after a change; by default the last one, after a change of the system site */
  goOn(head = this.#head): Promise<void> {
    this.#head = head;
    this.#isDue = true;
    this.#running ??= this.#goOn();
    return this.#running;
  }

  /** Ends the poll with the result of the last read. Authorizes it first, because its key may have expired while it waited. */
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
