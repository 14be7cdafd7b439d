import type { Encoding } from "../model/encoding.ts";
import type { Resource } from "../model/resource.ts";
import type { Kept } from "./kept.ts";
import { Selections } from "./selection.ts";

/** A stretch of a list's bytes, and the same in each content coding that it was asked for in. */
export interface Part {
  readonly start: number;
  readonly end: number;
  readonly compressed: Map<string, Uint8Array>;
}

/** The whole list in one encoding, until the next change. */
export interface List {
  readonly bytes: Uint8Array;
  /** They cover `bytes`, and stay as they are while their records do. */
  readonly parts: readonly Part[];
  /** The whole list by content coding. */
  readonly compressed: Map<string, Uint8Array>;
}

interface Block extends Part {
  /** The last one has no separator at its end. */
  readonly isLast: boolean;
}

interface KeptList extends List {
  readonly blocks: ReadonlyMap<number, Block>;
  /** The numbers of the blocks that changed since. */
  readonly stale: Set<number>;
}

const blockBits = 8;
const blockSize = 1 << blockBits;
const mostLately = 256;

/**
 * The records of one resource of one site, in blocks of 256 IDs. A change outdates the bytes of its block; the next
 * list copies the other blocks' bytes and encodes that one.
 */
export class Collection {
  readonly resource: Resource;
  /** The site's revision at the last change to any of these records. */
  revision = 0;
  size = 0;
  /** Counts every change. */
  changes = 0;
  readonly selections = new Selections(this);
  /** Characters of stored JSON, for the memory budget. */
  characters = 0;
  #blocks = new Map<number, (Kept | undefined)[]>();
  #order: number[] | undefined;
  /** The IDs of the last changes. */
  #lately: number[] = [];
  #lists = new Map<string, KeptList>();

  constructor(resource: Resource) {
    this.resource = resource;
  }

  get(id: number): Kept | undefined {
    return this.#blocks.get(Math.floor(id / blockSize))?.[id % blockSize];
  }

  /** Puts the record `id` in, or takes it out where `json` is null. */
  set(id: number, revision: number, json: string | null): void {
    const number = Math.floor(id / blockSize);
    let block = this.#blocks.get(number);
    if (!block) {
      block = [];
      this.#blocks.set(number, block);
      this.#order = undefined;
    }
    const before = block[id % blockSize];
    block[id % blockSize] = json === null ? undefined : { id, revision, json };
    this.size += (json === null ? 0 : 1) - (before ? 1 : 0);
    this.characters += (json?.length ?? 0) - (before?.json.length ?? 0);
    this.changes++;
    this.#lately.push(id);
    if (this.#lately.length > 2 * mostLately) this.#lately = this.#lately.slice(-mostLately);
    this.revision = Math.max(this.revision, revision);
    for (const list of this.#lists.values()) list.stale.add(number);
  }

  /** The IDs of the records that changed since there were `changes`; undefined when they are too many to be known. */
  changedSince(changes: number): ReadonlySet<number> | undefined {
    const missed = this.changes - changes;
    return missed > this.#lately.length ? undefined : new Set(this.#lately.slice(this.#lately.length - missed));
  }

  /** Every record, in ID order. */
  *[Symbol.iterator](): Generator<Kept> {
    for (const number of this.#numbers()) {
      for (const kept of this.#blocks.get(number) ?? []) if (kept) yield kept;
    }
  }

  /** A record as it stands in a list in `encoding`. */
  item(kept: Kept, encoding: Encoding): string {
    return this.document(kept, encoding).slice(encoding.documentStart.length);
  }

  /** A document of one record in `encoding`. */
  document(kept: Kept, encoding: Encoding): string {
    if (encoding.name === "json") return kept.json;
    kept.encoded ??= {};
    kept.encoded[encoding.name] ??= encoding.documentStart + encoding.item(this.resource, kept.json);
    return kept.encoded[encoding.name] as string;
  }

  /** The whole list in `encoding`. */
  list(encoding: Encoding): List {
    const kept = this.#lists.get(encoding.name);
    if (kept && kept.stale.size === 0) return kept;
    const list = this.#encode(encoding, kept);
    this.#lists.set(encoding.name, list);
    return list;
  }

  /** Bytes that the kept lists hold. */
  get listBytes(): number {
    let bytes = 0;
    for (const list of this.#lists.values()) {
      bytes += list.bytes.length;
      for (const compressed of list.compressed.values()) bytes += compressed.length;
    }
    return bytes;
  }

  #encode(encoding: Encoding, previous: KeptList | undefined): KeptList {
    const numbers = this.#numbers().filter((number) => this.#blocks.get(number)?.some(Boolean));
    const blocks = new Map<number, Block>();
    const texts: Uint8Array[] = [Buffer.from(encoding.listStart)];
    let start = (texts[0] as Uint8Array).length;
    numbers.forEach((number, index) => {
      const isLast = index === numbers.length - 1;
      const before = previous?.stale.has(number) ? undefined : previous?.blocks.get(number);
      const same = before?.isLast === isLast ? before : undefined;
      const bytes =
        same && previous ? previous.bytes.subarray(same.start, same.end) : this.#encodeBlock(number, isLast, encoding);
      blocks.set(number, { start, end: start + bytes.length, isLast, compressed: same?.compressed ?? new Map() });
      texts.push(bytes);
      start += bytes.length;
    });
    const bytes = Buffer.concat([...texts, Buffer.from(encoding.listEnd)]);
    const head = { start: 0, end: (texts[0] as Uint8Array).length, compressed: new Map() };
    const tail = { start, end: bytes.length, compressed: new Map() };
    return { bytes, parts: [head, ...blocks.values(), tail], blocks, stale: new Set(), compressed: new Map() };
  }

  #encodeBlock(number: number, isLast: boolean, encoding: Encoding): Uint8Array {
    const items = (this.#blocks.get(number) ?? []).flatMap((kept) =>
      kept ? encoding.item(this.resource, kept.json) : [],
    );
    return Buffer.from(items.join(encoding.separator) + (isLast ? "" : encoding.separator));
  }

  #numbers(): readonly number[] {
    this.#order ??= [...this.#blocks.keys()].sort((a, b) => a - b);
    return this.#order;
  }
}
