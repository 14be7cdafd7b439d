// Pages of the feed as they are sent. Clients that follow a site are at the same cursor most of the time, so a page is read and encoded once
// for all that request it at about the same moment.

import type { FeedPosition, Format } from "../formats/format.ts";
import { Slots } from "../lib/concurrency.ts";
import { inSlices, type Steps } from "../lib/event-loop.ts";
import type { Engine, Head } from "../model/engine.ts";
import { OtherHistory } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { type FeedPage, readFeed } from "../store/changes/feed.ts";
import { ListPart } from "../store/memory/block.ts";
import { EncodedList } from "../store/memory/collection-version.ts";
import type { ChangesQuery } from "./feed-routes.ts";

/** How long a page is shared, in milliseconds: entries that are pruned meanwhile are refused soon. */
const maxAge = 100;
/** Estimated memory of the shared pages, in bytes. */
const maxBytes = 16 * 1024 * 1024;
/** Pages that are read and encoded at once. Each may have 1,000 records in memory. */
const maxReads = 4;
/** Characters of a part of a page: what is encoded or compressed at once. */
const partLength = 64 * 1024;

export interface EncodedPage extends FeedPosition {
  readonly isEmpty: boolean;
  readonly body: EncodedList;
  /** The end of the journal when it was read. */
  readonly head: Head;
}

interface SharedPage {
  readonly page: EncodedPage;
  /** When it was read, as `performance.now()`. */
  readonly at: number;
}

export class FeedPages {
  readonly #engine: Pick<Engine, "journal">;
  readonly #slots = new Slots(maxReads);
  /** The oldest first. */
  readonly #pages = new Map<string, SharedPage>();
  readonly #reading = new Map<string, Promise<EncodedPage>>();
  #bytes = 0;

  constructor(engine: Pick<Engine, "journal">) {
    this.#engine = engine;
  }

  /**
   * A page of `site`, as new as `head`.
   * @throws Refusal `gone` for a cursor from which no client can follow, `unavailable` when the store is behind `head`; OtherHistory when
   *   the site has another history now
   */
  async page(site: number, head: Head, query: ChangesQuery, format: Format): Promise<EncodedPage> {
    const names = query.resources.map(({ name }) => name);
    const key = JSON.stringify([site, format.name, query.since, query.limit, query.isCollapsed, names]);
    const shared = this.#pages.get(key);
    if (shared && performance.now() - shared.at < maxAge && isAsNew(shared.page, head)) return shared.page;
    // A page that was under way may be older than this request. The one after it is not.
    for (let joined = 0; joined < 2; joined++) {
      const page = await this.#reading.get(key);
      if (page && isAsNew(page, head)) return page;
    }
    const read = this.#slots.run(() => this.#read(key, site, head, query, format));
    const reading = read.finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    const page = await reading;
    if (page.head.epoch !== head.epoch) throw new OtherHistory();
    return page;
  }

  async #read(key: string, site: number, minHead: Head, query: ChangesQuery, format: Format): Promise<EncodedPage> {
    const { since, limit, isCollapsed, resources } = query;
    const at = performance.now();
    const names = new Set(resources.map(({ name }) => name));
    const page = await readFeed(this.#engine, site, { since, limit, isCollapsed, resources: names, minHead });
    const body = await inSlices(encode(page, resources, format));
    const encoded = { ...page, isEmpty: page.changes.length === 0, body };
    this.#share(key, { page: encoded, at });
    return encoded;
  }

  #share(key: string, shared: SharedPage): void {
    this.#drop(key);
    this.#pages.set(key, shared);
    this.#bytes += memoryOf(shared);
    for (const [oldest, { at }] of this.#pages) {
      if (this.#bytes <= maxBytes && shared.at - at < maxAge) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const shared = this.#pages.get(key);
    if (!shared) return;
    this.#pages.delete(key);
    this.#bytes -= memoryOf(shared);
  }
}

/** A page without changes. */
export function emptyPage(format: Format, position: FeedPosition): EncodedList {
  return new EncodedList([new ListPart(Buffer.from(format.feed.start(position) + format.feed.end(position)))]);
}

/** Whether a page has all changes that were known at `head`. */
function isAsNew({ head: { epoch, revision, timeline } }: EncodedPage, head: Head): boolean {
  return epoch === head.epoch && timeline === head.timeline && revision >= head.revision;
}

/** An estimate: with the bytes, what is made of them when they are sent again or compressed. */
function memoryOf({ page }: SharedPage): number {
  return 2000 + 3 * page.body.length;
}

function* encode(page: FeedPage, resources: readonly Resource[], { feed }: Format): Steps<EncodedList> {
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  const parts: ListPart[] = [];
  let text = feed.start(page);
  for (const [index, { cursor, change }] of page.changes.entries()) {
    text += (index === 0 ? "" : feed.separator) + feed.item(byName.get(change.resource) as Resource, cursor, change);
    if (text.length >= partLength) {
      parts.push(new ListPart(Buffer.from(text)));
      text = "";
    }
    yield;
  }
  return new EncodedList([...parts, new ListPart(Buffer.from(text + feed.end(page)))]);
}
