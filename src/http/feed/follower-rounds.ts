// Reads the pages of the clients that follow a site, in rounds, so that its writers keep their speed.
//
// While a site is written to without a pause, no follower ever waits for a change: it gets a page, and asks for the next one at once. The pages of 1,000
// followers would leave the writers a fifth of the time. So after a round, all followers of the site rest, for several times as long as the round took:
// longer if there are more of them, and longer on a slow or busy machine. The next round is for all requests that arrive meanwhile. They're read up to the
// same head, so that followers with different cursors have the same one afterwards, and share their pages.
//
// While the site doesn't change, nobody rests. So a change after a pause reaches all followers at once, and after the last write they catch up as fast as
// they can. The measurements are in bench/measured/requests.md ("Followers of a site that is written to").

import { sleep } from "../../lib/background.ts";
import { FairQueue } from "../../lib/fair-queue.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { copyHead, type Head, isSameHead } from "../../model/head.ts";
import type { SiteChangeNotifier } from "../../store/changes/site-change-notifier.ts";

/** A rest, as a multiple of its round. It's the long one if the site gets more changes than pages are read, so that its writers need the time. */
const restFactor = { short: 6, long: 40 };
/** Maximum rest, in milliseconds. A round takes long, too, if the database doesn't respond. */
const maxRestMs = 10_000;

/** Reads a page. Must not throw or reject. @param head a head that the site has reached, the same for the whole round */
type Follower = (head: Head) => MaybePromise<void>;

interface FollowedSite {
  /** Those to call in the next round, and those of this round that weren't called yet. */
  readonly waiting: Set<Follower>;
  /** The newest head that a request or the notifier has seen. */
  head: Head;
  roundHead: Head;
  endRest(): void;
}

export class FollowerRounds {
  readonly #changeNotifier: Pick<SiteChangeNotifier, "subscribe">;
  readonly #rest: typeof sleep;
  /** The sites with a round, or with a rest after one. */
  readonly #sites = new Map<number, FollowedSite>();
  readonly #reads = new FairQueue<number>();

  constructor(changeNotifier: Pick<SiteChangeNotifier, "subscribe">, rest = sleep) {
    this.#changeNotifier = changeNotifier;
    this.#rest = rest;
  }

  /** Whether the site has a round, or rests after one. A follower may then have to wait for the next one. */
  hasRounds(siteId: number): boolean {
    return this.#sites.has(siteId);
  }

  /** Calls `follower` in the next round of its site. @returns a function that takes it out again */
  add(siteId: number, head: Head, follower: Follower): () => void {
    const site = this.#sites.get(siteId) ?? this.#start(siteId, copyHead(head));
    site.waiting.add(follower);
    observe(site, head);
    if (!hasChanged(site)) site.endRest();
    return () => void site.waiting.delete(follower);
  }

  /** Runs `work` in the next round of its site. Resolves or rejects as `work` does. */
  run<T>(siteId: number, head: Head, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.add(siteId, head, () => work().then(resolve, reject));
    return promise;
  }

  #start(siteId: number, head: Head): FollowedSite {
    const site: FollowedSite = { waiting: new Set(), head, roundHead: head, endRest: () => {} };
    this.#sites.set(siteId, site);
    const stop = this.#changeNotifier.subscribe(siteId, head, (next) => observe(site, next));
    // In a microtask, because the caller has yet to add its follower.
    queueMicrotask(() => void this.#runRounds(siteId, site).then(stop));
    return site;
  }

  async #runRounds(siteId: number, site: FollowedSite): Promise<void> {
    const { waiting } = site;
    let restUntil = 0;
    while (waiting.size > 0) {
      const { head } = site;
      const factor = head.revision - site.roundHead.revision > waiting.size ? restFactor.long : restFactor.short;
      site.roundHead = head;
      const startedAt = performance.now();
      for (const follower of waiting)
        this.#reads.add(siteId, { run: () => (waiting.delete(follower) ? follower(head) : undefined) });
      // The queue starts this task after those of all followers.
      await this.#reads.run(siteId, async () => {});
      const endedAt = performance.now();
      restUntil = Math.max(restUntil, endedAt + Math.min(maxRestMs, factor * (endedAt - startedAt)));
      const { promise: restEnd, resolve: endRest } = Promise.withResolvers<void>();
      site.endRest = endRest;
      if (waiting.size === 0 || hasChanged(site)) await this.#rest(restUntil - endedAt, restEnd);
    }
    this.#sites.delete(siteId);
  }
}

function hasChanged({ head, roundHead }: FollowedSite): boolean {
  return !isSameHead(head, roundHead);
}

function observe(site: FollowedSite, head: Head): void {
  const { epoch, timeline, revision } = site.head;
  // A request, or the notifier, can be a little behind.
  if (head.revision > revision || head.epoch !== epoch || head.timeline !== timeline) site.head = copyHead(head);
}
