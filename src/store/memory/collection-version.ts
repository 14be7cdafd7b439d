// A version of a collection: its records as of one moment, with a cache of lists and pages made from them.
//
// The whole list is a `TextInParts`, with one part per block. After a write, the next version's list shares all parts except those of changed blocks.
// A page is short, so its items are copied into one buffer. Both are made in slices on the first request; concurrent requests for a list share the
// work.
//
// Invariant: the records never change. Only the caches grow, and they go away with the version.

import { ByteBuilder, type ByteRange } from "../../lib/bytes.ts";
import { getOrCreate } from "../../lib/concurrency.ts";
import { type MaybePromise, whenResolved } from "../../lib/maybe-promise.ts";
import { type Steps, slices } from "../../lib/slices.ts";
import { documentOf, type Encoding } from "../../model/encoding.ts";
import type { StorefrontRecord } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { type Block, BlockRecord } from "./block.ts";
import { findRecord } from "./block-list.ts";
import type { MemoryRecord } from "./memory-record.ts";
import { TextInParts, TextPart } from "./text-in-parts.ts";

export interface Page {
  /** The encoded page, as sent. */
  readonly body: Uint8Array;
  /** Number of records on all pages. */
  readonly total: number;
}

/** Limits on a version's cached pages: how many, their total bytes, and the characters in a name. */
const maxPages = 64;
const maxPageBytes = 4 * 1024 * 1024;
const maxPageNameLength = 512;

/** Unused builders. Making a page takes one, and puts it back afterwards. */
const builders: ByteBuilder[] = [];
const maxBuilders = 4;

export class CollectionVersion {
  readonly blocks: readonly Block[];
  /** Revision of the resource's last change. */
  readonly revision: number;
  /** The number of this version, counted from 0 per collection. */
  readonly number: number;
  /** Number of records. */
  readonly size: number;
  readonly #lists = new Map<string, MaybePromise<TextInParts>>();
  readonly #pages = new Map<string, Page>();
  #pageBytes = 0;

  constructor(blocks: readonly Block[], revision: number, number: number) {
    this.blocks = blocks;
    this.revision = revision;
    this.number = number;
    this.size = blocks.reduce((size, block) => size + block.size, 0);
  }

  find(id: number): BlockRecord | undefined {
    return findRecord(this.blocks, id);
  }

  /** Returns the whole list. It's made on the first call; concurrent calls share the work. */
  encodeList(encoding: Encoding): MaybePromise<TextInParts> {
    return getOrCreate(this.#lists, encoding.name, () => slices.run(this.#createList(encoding)));
  }

  /**
   * Makes a list of the records `ids`.
   * @param encode returns a list item, for example with fewer fields. Default: complete records
   */
  *encodePage(
    ids: readonly number[],
    encoding: Encoding,
    encode?: (record: StorefrontRecord) => string,
  ): Steps<Uint8Array> {
    const builder = builders.pop() ?? new ByteBuilder();
    try {
      builder.clear();
      builder.write(encoding.listStart);
      for (let index = 0; index < ids.length; index++) {
        if (index > 0) builder.write(encoding.separator);
        const record = this.find(ids[index] as number) as BlockRecord;
        if (encode) builder.write(encode(JSON.parse(record.json)));
        else record.block.appendItem(record.index, encoding, builder);
        if (index % 64 === 63) yield;
      }
      builder.write(encoding.listEnd);
      return builder.take();
    } finally {
      if (builders.length < maxBuilders) builders.push(builder);
    }
  }

  /** Returns the cached page `name`, or makes and caches it. Clients tend to request the same pages. */
  cachedPage(name: string, make: () => MaybePromise<Page>): MaybePromise<Page> {
    const known = this.#pages.get(name);
    return known ?? whenResolved(make(), (page) => this.#cachePage(name, page));
  }

  estimateBytes(): number {
    let use = 1000 + 8 * this.blocks.length + this.#pageBytes;
    for (const block of this.blocks) use += block.estimateBytes();
    for (const list of this.#lists.values()) if (list instanceof TextInParts) use += list.estimateBytes();
    return use;
  }

  *#createList(encoding: Encoding): Steps<TextInParts> {
    const parts = [new TextPart(Buffer.from(encoding.listStart))];
    for (const block of this.blocks) {
      parts.push(block.encoded(encoding).part(parts.length === 1));
      yield;
    }
    parts.push(new TextPart(Buffer.from(encoding.listEnd)));
    return new TextInParts(parts);
  }

  #cachePage(name: string, page: Page): Page {
    const bytes = 500 + page.body.length;
    if (this.#pages.has(name)) return page;
    if (name.length > maxPageNameLength || bytes > maxPageBytes / 8) return page;
    if (this.#pages.size >= maxPages || this.#pageBytes + bytes > maxPageBytes) {
      this.#pages.clear();
      this.#pageBytes = 0;
    }
    this.#pages.set(name, page);
    this.#pageBytes += bytes;
    return page;
  }
}

/** Returns a document with one record: as bytes if the record is in a block, otherwise as text. */
export function toDocument(
  record: MemoryRecord,
  resource: Resource,
  encoding: Encoding,
): string | readonly (Uint8Array | ByteRange)[] {
  if (!(record instanceof BlockRecord)) return documentOf(encoding, resource, record.json);
  const item = record.block.encoded(encoding).range(record.index);
  return encoding.documentStart === "" ? [item] : [startOf(encoding), item];
}

/** `documentStart` in bytes, by encoding. */
const starts = new WeakMap<Encoding, Uint8Array>();

function startOf(encoding: Encoding): Uint8Array {
  let start = starts.get(encoding);
  if (!start) {
    start = Buffer.from(encoding.documentStart);
    starts.set(encoding, start);
  }
  return start;
}
