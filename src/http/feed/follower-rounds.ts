// Reads pages for the clients that follow a site in rounds, so that its writers don't slow down.
//
// On a site that's constantly written to, followers never wait for a change: each one gets a page and immediately asks for the next. With 1,000 of them, that
// would leave writers a fifth of the time. So after a round of reads, all of the site's followers rest for several times as long as the round took, which is
// longer if there are more of them or the machine is slow or busy. The next round serves all requests that have arrived by then. They're read up to the
// same head, so that followers with different cursors end up with the same one and share their pages.
//
// While the site doesn't change, nobody rests. So a change after a quiet period reaches all followers at once, and after the last write they catch up as fast
// as they can. docs/decisions/requests.md says what else we tried.

import { sleep } from "../../lib/background.ts";
import { FairQueue } from "../../lib/fair-queue.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { copyHead, type Head, isSameHead } from "../../model/head.ts";
import type { SiteChangeNotifier } from "../../store/changes/site-change-notifier.ts";

/** How long to rest, as a multiple of the round: `long` if the site gets more changes than pages are read, since its writers need the time then. */
const restFactor = { short: 6, long: 40 };
/** A round also takes long if the database doesn't respond. */
const maxRestMs = 10_000;

/** Reads a page. Mustn't throw or reject. @param head the head to read up to, the same for the whole round */
type Follower = (head: Head) => MaybePromise<void>;

interface FollowedSite {
  /** Followers for the next round, and those this round hasn't called yet. */
  readonly waiting: Set<Follower>;
  /** The newest head seen by a request or the notifier. */
  head: Head;
  roundHead: Head;
  endRest(): void;
}

export class FollowerRounds {
  readonly #changeNotifier: Pick<SiteChangeNotifier, "subscribe">;
  readonly #rest: typeof sleep;
  /** Sites with a round in progress, or resting after one. */
  readonly #sites = new Map<number, FollowedSite>();
  readonly #reads = new FairQueue<number>();

  constructor(changeNotifier: Pick<SiteChangeNotifier, "subscribe">, rest = sleep) {
    this.#changeNotifier = changeNotifier;
    this.#rest = rest;
  }

  /** Whether the site has a round in progress or is resting after one, so that a follower may have to wait for the next. */
  hasRounds(siteId: number): boolean {
    return this.#sites.has(siteId);
  }

  /** Calls `follower` in the site's next round. @returns a function that takes it out again */
  add(siteId: number, head: Head, follower: Follower): () => void {
    const site = this.#sites.get(siteId) ?? this.#start(siteId, copyHead(head));
    site.waiting.add(follower);
    observe(site, head);
    if (!hasChanged(site)) site.endRest();
    return () => void site.waiting.delete(follower);
  }

  /** Runs `work` in the site's next round. Resolves or rejects as `work` does. */
  run<T>(siteId: number, head: Head, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.add(siteId, head, () => work().then(resolve, reject));
    return promise;
  }

  #start(siteId: number, head: Head): FollowedSite {
    const site: FollowedSite = { waiting: new Set(), head, roundHead: head, endRest: () => {} };
    this.#sites.set(siteId, site);
    const stop = this.#changeNotifier.subscribe(siteId, head, (next) => observe(site, next));
    // In a microtask, because the caller hasn't added its follower yet.
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
      // The queue runs this after all followers.
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
  // Requests and the notifier can be a little behind.
  if (head.revision > revision || head.epoch !== epoch || head.timeline !== timeline) site.head = copyHead(head);
}
