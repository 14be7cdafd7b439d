// Caches encoded feed pages, usually for 100 ms, because after a change, all of a site's followers ask for the same page.
//
// Invariants:
// - A request only gets a cached page of its own epoch that has reached the request's head, or that has an end before it. If the page is being read, the
//   request waits and checks the result the same way. After two results that are too old, it starts its own read.
// - At most two pages are read and encoded at once, because each can have 1,000 records in memory.
// - The cache's estimated memory stays below 16 MiB. The oldest pages are evicted first.

import type { FeedPosition, Format } from "../../formats/format.ts";
import { Semaphore } from "../../lib/concurrency.ts";
import { type Steps, slices } from "../../lib/slices.ts";
import type { Engine } from "../../model/engine.ts";
import { OutdatedError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { type FeedPage, readFeedPage } from "../../store/changes/feed.ts";
import { TextInParts, TextPart } from "../../store/memory/text-in-parts.ts";
import type { FeedParameters } from "./feed-parameters.ts";

/** How long a cached page is served, and so how long a cursor to a pruned entry may keep working. */
export const maxPageAgeMs = 100;
/** The same for a page with an end: long enough for a round of a few thousand followers (follower-rounds.ts), whose cursors are too recent to be pruned. */
const maxPageWithEndAgeMs = 5000;
const maxCachedBytes = 16 * 1024 * 1024;
/** Each can have 1,000 records in memory. */
const maxConcurrentReads = 2;
/** From this length on, a part of a page is complete. Parts are compressed separately. */
const maxPartChars = 64 * 1024;

export interface EncodedPage extends FeedPosition {
  readonly isEmpty: boolean;
  readonly body: TextInParts;
  readonly head: Head;
  /** Whether the page has an end before the site's last revision, so that later changes don't belong in it. */
  readonly isComplete: boolean;
}

interface SharedPage {
  readonly page: EncodedPage;
  /** When the read of the page started, as `performance.now()`. */
  readonly at: number;
}

export interface PageQuery extends FeedParameters {
  /** The last revision the page may scan; undefined for the site's last one. */
  readonly end?: number | undefined;
}

export class FeedPageCache {
  readonly #engine: Pick<Engine, "readJournalPage">;
  readonly #readSemaphore = new Semaphore(maxConcurrentReads);
  /** By request, oldest first. */
  readonly #pages = new Map<string, SharedPage>();
  readonly #readsInFlight = new Map<string, Promise<EncodedPage>>();
  #bytes = 0;

  constructor(engine: Pick<Engine, "readJournalPage">) {
    this.#engine = engine;
  }

  /**
   * Returns a page that includes changes up to `head` at least, from the cache or the database.
   * @throws ProblemError `gone` for a cursor after which changes are missing, `unavailable` if the database is behind `head`; OutdatedError if the site's
   *   epoch has changed
   */
  async getPage(siteId: number, head: Head, query: PageQuery, format: Format): Promise<EncodedPage> {
    const names = query.resources.map(({ name }) => name);
    const key = JSON.stringify([siteId, format.name, query.since, query.limit, query.isCollapsed, query.end, names]);
    const shared = this.#pages.get(key);
    if (
      shared &&
      performance.now() - shared.at < (shared.page.isComplete ? maxPageWithEndAgeMs : maxPageAgeMs) &&
      isPageAtLeast(shared.page, head)
    )
      return shared.page;
    // A read in flight may have started before this request. The next one can't have, so we join two at most.
    for (let joined = 0; joined < 2; joined++) {
      const page = await this.#readsInFlight.get(key);
      if (page && isPageAtLeast(page, head)) return page;
    }
    const read = this.#readSemaphore.run(() => this.#read(key, siteId, head, query, format));
    const reading = read.finally(() => this.#readsInFlight.delete(key));
    this.#readsInFlight.set(key, reading);
    const page = await reading;
    if (page.head.epoch !== head.epoch) throw new OutdatedError("epoch");
    return page;
  }

  async #read(
    key: string,
    siteId: number,
    requiredHead: Head,
    { resources, end, ...query }: PageQuery,
    format: Format,
  ): Promise<EncodedPage> {
    const at = performance.now();
    const page = await readFeedPage(this.#engine, siteId, {
      ...query,
      resources: new Set(resources.map(({ name }) => name)),
      requiredHead,
      ...(end !== undefined && { until: end }),
    });
    const body = await slices.run(encode(page, resources, format));
    const isComplete = end !== undefined && page.hasMore;
    // Drop the changes, which take several times as much memory as the body.
    const { changes, ...position } = page;
    const encoded = { ...position, isEmpty: changes.length === 0, isComplete, body };
    this.#cache(key, { page: encoded, at });
    return encoded;
  }

  #cache(key: string, shared: SharedPage): void {
    this.#evict(key);
    this.#pages.set(key, shared);
    this.#bytes += estimatePageBytes(shared);
    for (const [oldest, { at }] of this.#pages) {
      if (this.#bytes <= maxCachedBytes && shared.at - at < maxPageWithEndAgeMs) break;
      this.#evict(oldest);
    }
  }

  #evict(key: string): void {
    const shared = this.#pages.get(key);
    if (!shared) return;
    this.#pages.delete(key);
    this.#bytes -= estimatePageBytes(shared);
  }
}

export function encodeEmptyPage(format: Format, position: FeedPosition, head: Head): EncodedPage {
  const text = format.feed.start(position) + format.feed.end(position);
  const body = new TextInParts([new TextPart(Buffer.from(text))]);
  return { ...position, isEmpty: true, isComplete: false, body, head };
}

/** Whether a page has reached `head`, in the same epoch and timeline. */
function isPageAtLeast({ head: { epoch, revision, timeline }, isComplete }: EncodedPage, head: Head): boolean {
  return epoch === head.epoch && timeline === head.timeline && (isComplete || revision >= head.revision);
}

/** The body, its joined copy and its compressed copies. */
function estimatePageBytes({ page }: SharedPage): number {
  return 2000 + 3 * page.body.length;
}

function* encode(page: FeedPage, resources: readonly Resource[], { feed }: Format): Steps<TextInParts> {
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  const parts: TextPart[] = [];
  let text = feed.start(page);
  for (const [index, found] of page.changes.entries()) {
    const resource = byName.get(found.change.resource) as Resource;
    text += (index === 0 ? "" : feed.separator) + feed.item(resource, found);
    if (text.length >= maxPartChars) {
      parts.push(new TextPart(Buffer.from(text)));
      text = "";
    }
    yield;
  }
  return new TextInParts([...parts, new TextPart(Buffer.from(text + feed.end(page)))]);
}
