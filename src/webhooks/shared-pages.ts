// Reads and encodes the pages that webhooks deliver, once for all of a site's webhooks that follow the same resources from the same cursor.
//
// A page is only shared if there were already changes after it, so that no later one belongs in it. And while there are pages to share, a webhook that's
// at another cursor reads no further than the end of one of them, so that from there, it has the same pages as the others.

import { json } from "../formats/json.ts";
import type { Resource } from "../model/resource.ts";
import type { WebhookState } from "../model/webhooks.ts";
import { type FeedPage, type FeedQuery, type JournalReads, readFeedPage } from "../store/changes/feed.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import type { Clock } from "./clock.ts";

/** A page of changes for an event. */
export interface EventPage extends Pick<FeedPage, "next" | "hasMore" | "head"> {
  /** Revision of the first change; 0 without changes. */
  readonly first: number;
  /** When the last change was made, in milliseconds since 1970; 0 without changes. */
  readonly at: number;
  /** The changes in JSON, separated by commas. */
  readonly changes: Buffer;
}

interface SharedPage {
  readonly page: EventPage;
  /** The site, the cursor's epoch and the resources. */
  readonly group: string;
  /** Revision of the cursor before the page. */
  readonly start: number;
  /** When it was read, on the monotonic clock. */
  readonly at: number;
}

/** By then, a site's webhooks have delivered a page to quick receivers. Meanwhile, its changes may be pruned or restored, as during any delivery. */
const maxAgeMs = 1000;
const maxPages = 100;
const maxBytes = 16 << 20;

export class SharedPages {
  readonly #engine: JournalReads;
  readonly #resources: ReadonlyMap<string, Resource>;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By group and cursor, oldest first. */
  readonly #pages = new Map<string, SharedPage>();
  #bytes = 0;

  /** @param resources by name */
  constructor(engine: JournalReads, resources: ReadonlyMap<string, Resource>, clock: Pick<Clock, "monotonicMs">) {
    this.#engine = engine;
    this.#resources = resources;
    this.#clock = clock;
  }

  /** Reads a page that's not shared. Throws like `readFeedPage`. */
  async readOwn(site: number, query: Omit<FeedQuery, "isCollapsed">): Promise<EventPage> {
    return this.#encode(await readFeedPage(this.#engine, site, { ...query, isCollapsed: false }));
  }

  /** Reads up to `limit` changes after the webhook's cursor. Throws like `readFeedPage`. */
  async read(
    { site, epoch, cursor }: WebhookState,
    { limit, resources }: Pick<FeedQuery, "limit" | "resources">,
  ): Promise<EventPage> {
    const group = [site, epoch, ...resources].join(" ");
    const key = `${group} ${cursor}`;
    const now = this.#clock.monotonicMs();
    this.#evict(now - maxAgeMs);
    const shared = this.#pages.get(key)?.page;
    if (shared) return shared;
    const start = revisionInCursor(cursor);
    const end = this.#findEnd(group, start);
    const page = await this.readOwn(site, { since: cursor, limit, resources, ...(end && { until: end }) });
    if (page.hasMore && page.first > 0 && page.head.epoch === epoch && !this.#pages.has(key)) {
      this.#pages.set(key, { page, group, start, at: now });
      this.#bytes += page.changes.length;
    }
    return page;
  }

  /** Returns the last revision of a page that starts before revision `start` and ends after it. */
  #findEnd(group: string, start: number): number | undefined {
    for (const one of this.#pages.values()) {
      const end = revisionInCursor(one.page.next);
      if (one.group === group && one.start < start && start < end) return end;
    }
    return undefined;
  }

  /** @param before on the monotonic clock */
  #evict(before: number): void {
    for (const [key, { page, at }] of this.#pages) {
      if (at >= before && this.#pages.size <= maxPages && this.#bytes <= maxBytes) return;
      this.#pages.delete(key);
      this.#bytes -= page.changes.length;
    }
  }

  #encode({ changes, next, hasMore, head }: FeedPage): EventPage {
    const items = changes.map((found) => json.feed.item(this.#resources.get(found.change.resource) as Resource, found));
    const [first, last] = [changes[0]?.change.revision ?? 0, changes.at(-1)?.change.at ?? 0];
    return { first, at: last, changes: Buffer.from(items.join(json.feed.separator)), next, hasMore, head };
  }
}
