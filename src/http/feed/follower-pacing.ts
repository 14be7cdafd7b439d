// Divides the time of this process between the writers of a site and the many clients that follow it with long polls.
//
// Under steady writes, no long poll ever waits: its cursor is behind, so it gets a page of a few changes at once, and asks again. With 1,000 such clients,
// the pages take most of the time, and the writers get the rest. So while a site is written to steadily, the long polls of its followers are deferred,
// and read in the order in which they came, as fast as a budget of CPU time allows. A page then has more changes.
//
// The budget is a share of the CPU time that the process itself uses, so that it means the same on a busy machine. If the process has little else to do,
// the followers get more. See "Followers of a busy site take turns" in docs/decisions/requests.md.
//
// Invariants:
// - A site without steady writes is not affected: its first change after a pause reaches all followers at once. When the writes end, all deferred
//   polls are read.
// - Every deferred poll is a waiting long poll: it has a place, and ends at its timeout, when its client leaves, or when the server stops.

import { FairQueue, type FairTask } from "../../lib/fair-queue.ts";
import { LinkedQueue, QueueEntry } from "../../lib/linked-queue.ts";
import { copyHead, type Head, isSameHead } from "../../model/head.ts";
import type { SiteChangeNotifier } from "../../store/changes/site-change-notifier.ts";

/** A site is written to steadily if its head has moved twice in this time, in milliseconds. */
const steadyMs = 250;
/** Milliseconds between two looks at the budget. Pages that are read together share their reads of heads, which cost as much as a page. */
const tickMs = 100;
/** The share of the CPU time of this process that the pages of deferred polls may take. */
const share = 0.08;
/** If everything else takes less than this part of a core, the pages may take the rest of it. */
const spareCores = 0.25;
/** Maximum CPU time that is saved for later, in milliseconds. */
const maxSavedMs = 50;
/** Estimated CPU time of a page, in milliseconds: authorizing, reading, encoding and sending it. */
const pageMs = { fixed: 0.1, perCharacter: 2.5e-6 };
/** Milliseconds after which a site without requests is forgotten. */
const forgetMs = 1000;

/** A site with followers. */
interface FollowedSite {
  readonly id: number;
  head: Head;
  /** When a request or a change was last seen, as the times below. */
  seenAt: number;
  /** When its head moved, as `performance.now()`: the last time, and the time before that. */
  movedAt: number;
  movedBefore: number;
  /** Polls that are deferred. */
  readonly deferred: LinkedQueue<FairTask>;
  /** Ends the subscription to its changes, which it has while polls are deferred. */
  stop(): void;
}

/** A site with followers, as a member of a queue. */
type SiteEntry = QueueEntry<FollowedSite>;

/** Milliseconds since any moment, and the milliseconds of CPU time that this process has used since any moment. */
interface PacingClock {
  now(): number;
  usedMs(): number;
}

const machineClock: PacingClock = {
  now: () => performance.now(),
  usedMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

export class FollowerPacing {
  readonly #changeNotifier: Pick<SiteChangeNotifier, "subscribe">;
  readonly #sites = new Map<number, SiteEntry>();
  /** The sites with deferred polls, in rotation. */
  readonly #rotation = new LinkedQueue<FollowedSite>();
  /** The reads of polls whose turn has come. */
  readonly #reads = new FairQueue<number>();
  readonly #clock: PacingClock;
  readonly #budget: CpuBudget;
  #timer: NodeJS.Timeout | undefined;
  #sweptAt = 0;

  /** @param clock the time, and the CPU time of this process so far; by default those of the machine */
  constructor(changeNotifier: Pick<SiteChangeNotifier, "subscribe">, clock: PacingClock = machineClock) {
    this.#changeNotifier = changeNotifier;
    this.#clock = clock;
    this.#budget = new CpuBudget(clock);
  }

  /**
   * Whether a follower of the site may read a page now. If it may, the page is counted.
   * @param head the head of the site, as the caller knows it
   */
  mayRead(siteId: number, head: Head): boolean {
    const { member: site } = this.#observe(siteId, head);
    if (!this.#isSteady(site)) return true;
    return site.deferred.isEmpty && this.#budget.take();
  }

  /**
   * Defers a poll for which `mayRead` was false. Calls its `run` when it may read.
   * @returns a function that gives the place in the queue up
   */
  defer(siteId: number, head: Head, poll: FairTask): () => void {
    const site = this.#observe(siteId, head);
    const { deferred } = site.member;
    const place = new QueueEntry(poll);
    if (deferred.isEmpty) this.#startDeferring(site);
    deferred.add(place);
    this.#timer ??= setInterval(() => this.#readDue(), tickMs).unref();
    return () => this.#leave(site, place);
  }

  /** Learns what the pages cost. @param characters the length of a page that was sent to a follower */
  countPage(characters: number): void {
    this.#budget.learn(pageMs.fixed + characters * pageMs.perCharacter);
  }

  /** Gives every deferred poll its turn: because its site rests, or within the budget. */
  #readDue(): void {
    for (const site of this.#sites.values())
      if (!this.#isSteady(site.member)) while (!site.member.deferred.isEmpty) this.#readFirst(site);
    for (let site = this.#rotation.first; site && this.#budget.take(); site = this.#rotation.first) {
      this.#rotation.delete(site);
      this.#rotation.add(site);
      this.#readFirst(site);
    }
    if (!this.#rotation.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #readFirst(site: SiteEntry): void {
    const place = site.member.deferred.first as QueueEntry<FairTask>;
    this.#leave(site, place);
    this.#reads.add(site.member.id, place.member);
  }

  /** Removes a poll from the deferred ones of its site, if it is there. */
  #leave(site: SiteEntry, place: QueueEntry<FairTask>): void {
    const { deferred, stop } = site.member;
    if (!deferred.has(place)) return;
    deferred.delete(place);
    if (!deferred.isEmpty) return;
    this.#rotation.delete(site);
    stop();
  }

  #startDeferring(site: SiteEntry): void {
    const { id, head } = site.member;
    this.#rotation.add(site);
    site.member.stop = this.#changeNotifier.subscribe(id, head, (next) => void this.#observe(id, next));
  }

  /** Notes whether the head of a site has moved. */
  #observe(id: number, head: Head): SiteEntry {
    const now = this.#clock.now();
    if (now - this.#sweptAt > forgetMs) this.#forgetOld(now);
    const site = this.#sites.get(id) ?? this.#add(id, head);
    const known = site.member;
    known.seenAt = now;
    // A request can have an older head than the last one.
    const isOlder = known.head.epoch === head.epoch && head.revision < known.head.revision;
    if (isSameHead(known.head, head) || isOlder) return site;
    known.head = copyHead(head);
    known.movedBefore = known.movedAt;
    known.movedAt = now;
    return site;
  }

  #add(id: number, head: Head): SiteEntry {
    const deferred = new LinkedQueue<FairTask>();
    const never = Number.NEGATIVE_INFINITY;
    const times = { seenAt: never, movedAt: never, movedBefore: never };
    const site = new QueueEntry<FollowedSite>({ id, head: copyHead(head), ...times, deferred, stop: () => {} });
    this.#sites.set(id, site);
    return site;
  }

  #forgetOld(now: number): void {
    this.#sweptAt = now;
    for (const [id, { member: site }] of this.#sites)
      if (site.deferred.isEmpty && now - site.seenAt > forgetMs) this.#sites.delete(id);
  }

  #isSteady({ movedBefore }: FollowedSite): boolean {
    return this.#clock.now() - movedBefore < steadyMs;
  }
}

/** The CPU time that pages may still take. */
class CpuBudget {
  readonly #clock: PacingClock;
  #availableMs = 0;
  /** The CPU time of the pages that were taken since the last update. */
  #takenMs = 0;
  #pageMs = pageMs.fixed;
  #at: number;
  #usedMs: number;

  constructor(clock: PacingClock) {
    this.#clock = clock;
    this.#at = clock.now();
    this.#usedMs = clock.usedMs();
  }

  /** Takes the time of one page. Returns false if the budget is used up. */
  take(): boolean {
    this.#update();
    if (this.#availableMs <= 0) return false;
    this.#availableMs -= this.#pageMs;
    this.#takenMs += this.#pageMs;
    return true;
  }

  /** Learns the CPU time of a page. */
  learn(ms: number): void {
    this.#pageMs += (ms - this.#pageMs) / 16;
  }

  #update(): void {
    const now = this.#clock.now();
    const elapsedMs = now - this.#at;
    if (elapsedMs < tickMs / 2) return;
    const usedMs = this.#clock.usedMs();
    const othersMs = Math.max(0, usedMs - this.#usedMs - this.#takenMs);
    const allowedMs = Math.max(share * othersMs, spareCores * elapsedMs - othersMs);
    this.#availableMs = Math.min(maxSavedMs, this.#availableMs + allowedMs);
    this.#takenMs = 0;
    this.#at = now;
    this.#usedMs = usedMs;
  }
}
