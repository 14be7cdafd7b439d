// Holds feed requests until their site changes, their time is up, their client leaves or the server stops. A long poll may also end to make room for
// another (poll-places.ts).
//
// While it waits, a poll only costs memory. A change to its site or the system site wakes it. Then it's authorized again and, if its own site has changed,
// reads the next page. If that has no content, it goes back to waiting.
//
// Invariants:
// (1) However many wake-ups arrive during a read, they cause only one more read.
// (2) A poll is settled once, by whatever happens first, and only responds after its key was checked again.
// (3) All polls together take at most half of the connections. If many end at once, a few are settled per tick.

import { FairQueue } from "../../lib/fair-queue.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Head, isSameHead } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import type { SiteChangeNotifier } from "../../store/changes/site-change-notifier.ts";
import type { ApiKey } from "../../system/system-records.ts";
import { type RequestAuthorizer, requireSameSite } from "../authorization/authorizer.ts";
import type { RequestContext } from "../request-context.ts";
import { FollowerRounds } from "./follower-rounds.ts";
import { PollPlaces } from "./poll-places.ts";

export interface PollRead {
  readonly siteId: number;
  readonly head: Head;
  /** The head of the system site when the key was last checked. */
  readonly system: Head;
  /** Whether there's something to return, which ends the wait. */
  readonly hasContent: boolean;
}

interface LongPollOptions<R extends PollRead> {
  readonly key: ApiKey;
  readonly waitMs: number;
  readonly first: R;
  /** The site's head, if nothing was read yet because its followers are resting (follower-rounds.ts). */
  readonly unreadHead?: Head | undefined;
  /**
   * Reads again, then authorizes the request again.
   * @param head what the site has reached
   * @param isInRound whether many polls are reading up to this head
   */
  readonly read: (last: R, head: Head, isInRound: boolean) => Promise<R>;
}

interface PollDependencies {
  readonly changeNotifier: Pick<SiteChangeNotifier, "subscribe">;
  readonly authorizer: Pick<RequestAuthorizer, "reauthorize" | "reauthorizeInMemory">;
}

type Rounds = Pick<FollowerRounds, "hasRounds" | "add" | "run">;

interface WaitingPoll {
  readonly siteId: number;
  /** Ends the poll with the result of its last read. Doesn't throw. */
  end(): void;
}

export class LongPolls {
  readonly rounds: Rounds;
  readonly #places: PollPlaces;
  readonly #dependencies: PollDependencies & { readonly rounds: Rounds };
  readonly #waiting = new Set<WaitingPoll>();
  /** Polls that have timed out, whose clients have left, or all of them when the server stops; queued by site. A few end per tick, since there may be many. */
  readonly #endingQueue = new FairQueue<number>();
  #isStopped = false;

  /** @param connections the maximum for this process; at most half of them can be long polls */
  constructor(
    connections: number,
    dependencies: PollDependencies,
    rounds: Rounds = new FollowerRounds(dependencies.changeNotifier),
  ) {
    this.#places = new PollPlaces(Math.max(1, Math.floor(connections / 2)));
    this.#dependencies = { ...dependencies, rounds };
    this.rounds = rounds;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a read has content, time is up, the client closes its side, another poll needs the place or the server stops. Returns the result of the last
   * read.
   * @throws ProblemError `too-many-requests` if too many polls are open; OutdatedError if host and key now select another site; the errors of `reauthorize`
   *   and `read`
   */
  async waitForContent<R extends PollRead>(context: RequestContext, options: LongPollOptions<R>): Promise<R> {
    const { key, waitMs, first } = options;
    if (this.#isStopped) return first;
    const { changeNotifier } = this.#dependencies;
    const poll = new LongPoll(context, options, this.#dependencies);
    const place = this.#places.acquire(key, poll);
    const started = performance.now();
    context.request.discardBody();
    this.#waiting.add(poll);
    const timer = setTimeout(() => this.#endLater(poll), waitMs);
    const stops: (() => void)[] = [];
    try {
      stops.push(() => poll.stopListening());
      poll.listen();
      stops.push(changeNotifier.subscribe(systemSite, first.system, () => poll.wake()));
      context.request.onClientEnd(() => this.#endLater(poll));
      return await poll.settled;
    } finally {
      clearTimeout(timer);
      for (const stop of stops) stop();
      this.#waiting.delete(poll);
      this.#places.release(place);
      context.longPollMs += performance.now() - started;
    }
  }

  /** Makes room for a new connection by ending the longest-waiting poll of the key with the most polls. Returns false if there are none. */
  makeRoom(): boolean {
    return this.#places.endOne();
  }

  /** Ends all polls, a few per tick. From now on, `waitForContent` returns immediately. */
  stop(): void {
    this.#isStopped = true;
    for (const poll of this.#waiting) this.#endLater(poll);
  }

  #endLater(poll: WaitingPoll): void {
    this.#endingQueue.add(poll.siteId, { run: () => poll.end() });
  }
}

class LongPoll<R extends PollRead> implements WaitingPoll {
  readonly #context: RequestContext;
  readonly #read: LongPollOptions<R>["read"];
  readonly #dependencies: PollDependencies & { readonly rounds: Rounds };
  readonly #result = Promise.withResolvers<R>();
  #lastRead: R;
  /** The site's head as of the last wake-up. */
  #head: Head;
  #running: Promise<void> | undefined;
  /** Unsubscribes from the site's changes, or leaves the next round. */
  #stop: (() => void) | undefined;
  #isWakePending = false;
  #isUnread: boolean;
  #isInRound = false;
  #isSettled = false;

  constructor(
    context: RequestContext,
    { first, unreadHead, read }: LongPollOptions<R>,
    dependencies: PollDependencies & { readonly rounds: Rounds },
  ) {
    this.#context = context;
    this.#read = read;
    this.#dependencies = dependencies;
    this.#lastRead = first;
    this.#isUnread = unreadHead !== undefined;
    this.#head = unreadHead ?? first.head;
  }

  get siteId(): number {
    return this.#lastRead.siteId;
  }

  get settled(): Promise<R> {
    return this.#result.promise;
  }

  /** Waits for a change to the site, or if nothing was read yet, for the next round. */
  listen(): void {
    if (this.#isUnread) return void this.#joinRound();
    const { changeNotifier } = this.#dependencies;
    this.#stop = changeNotifier.subscribe(this.siteId, this.#lastRead.head, (head) => this.#wakeInRound(head));
  }

  stopListening(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  wake(): Promise<void> {
    this.#isWakePending = true;
    this.#running ??= this.#readWhileWoken();
    return this.#running;
  }

  /** Wakes the poll in the next round after its site has changed. More changes don't wake it any sooner. */
  #wakeInRound(head: Head): MaybePromise<void> {
    this.#head = head;
    if (this.#running) return this.wake();
    this.stopListening();
    this.#joinRound();
  }

  #joinRound(): void {
    this.#stop = this.#dependencies.rounds.add(this.siteId, this.#head, (head) => {
      this.#stop = undefined;
      this.#head = head;
      this.#isInRound = true;
      return this.wake();
    });
  }

  /** If nothing was read yet, reads first. Otherwise authorizes again, because the key may have expired during the wait. */
  end(): void {
    if (this.#isUnread && !this.#isSettled)
      return void this.wake().then(() => this.#settle(() => this.#result.resolve(this.#lastRead)));
    this.#settle(() => {
      this.#dependencies.authorizer.reauthorizeInMemory(this.#context, this.siteId);
      this.#result.resolve(this.#lastRead);
    });
  }

  async #readWhileWoken(): Promise<void> {
    try {
      while (this.#isWakePending && !this.#isSettled) {
        this.#isWakePending = false;
        await this.#reauthorizeOrRead();
        if (this.#lastRead.hasContent) this.#settle(() => this.#result.resolve(this.#lastRead));
      }
    } catch (error) {
      this.#settle(() => this.#result.reject(error));
    }
    this.#running = undefined;
    if (!this.#isSettled && !this.#stop) this.listen();
  }

  async #reauthorizeOrRead(): Promise<void> {
    if (isSameHead(this.#head, this.#lastRead.head))
      await this.#dependencies.authorizer.reauthorize(this.#context, (authorized) =>
        requireSameSite(authorized, this.siteId),
      );
    else {
      this.#lastRead = await this.#read(this.#lastRead, this.#head, this.#isInRound);
      this.#isInRound = false;
      this.#isUnread = false;
    }
  }

  #settle(how: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    try {
      how();
    } catch (error) {
      this.#result.reject(error);
    }
  }
}
