import type { FairQueue, FairWork } from "../lib/fair-queue.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import type { Head } from "../model/engine.ts";
import { isSameHead } from "./since.ts";

/** Called when a site has changed, with its head as it was found. Must not throw or reject. */
export type OnChange = (head: Head) => MaybePromise<void>;

export interface WatchedSite {
  readonly id: number;
  readonly watchers: Set<SiteWatcher>;
  /** As it was last read; undefined before that. */
  head: Head | undefined;
}

/** What waits for a change of one site. */
export class SiteWatcher implements FairWork {
  readonly #site: WatchedSite;
  readonly #onChange: OnChange;
  readonly #queue: FairQueue<number>;
  /** What the callee knows of the site. */
  #known: Head;
  /** Whether it is in the queue, or a call is under way. */
  #isBusy = false;
  #isStopped = false;

  /** @param queue of calls, by site */
  constructor(site: WatchedSite, known: Head, onChange: OnChange, queue: FairQueue<number>) {
    this.#site = site;
    this.#known = known;
    this.#onChange = onChange;
    this.#queue = queue;
  }

  /** Whether the site is known to be as this knows it. */
  get isUpToDate(): boolean {
    const { head } = this.#site;
    return head !== undefined && isSameHead(head, this.#known);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Calls it in its turn, if the site has changed. To be called when the head of the site was read. */
  callIfChanged(): void {
    if (this.#isBusy || this.#isStopped || this.isUpToDate) return;
    this.#isBusy = true;
    this.#queue.add(this.#site.id, this);
  }

  run(): MaybePromise<void> {
    if (this.#isStopped) return;
    if (this.#site.head) this.#known = this.#site.head;
    return after(this.#onChange(this.#known), () => {
      this.#isBusy = false;
      // What was committed during the call may have come too late for it.
      this.callIfChanged();
    });
  }
}
