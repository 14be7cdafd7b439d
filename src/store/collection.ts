import type { Encoding } from "../model/encoding.ts";
import type { Resource } from "../model/resource.ts";

/** A record that is kept in memory. */
export interface Kept {
  readonly id: number;
  readonly revision: number;
  /** As it is stored. */
  readonly json: string;
  /** A document of it in other encodings, made when first asked for. */
  encoded?: Record<string, string>;
}

/** The whole list in one encoding, and the same compressed, until the next change. */
export interface List {
  readonly bytes: Uint8Array;
  /** By content coding; filled by whoever compresses. */
  readonly compressed: Map<string, Uint8Array>;
}

interface KeptList extends List {
  /** Where each block ends in `bytes`, by the number of the block. */
  readonly ends: Map<number, number>;
  /** The blocks that changed since. */
  readonly stale: Set<number>;
}

const blockBits = 8;
const blockSize = 1 << blockBits;

/**
 * The records of one resource of one site, in blocks of 256 IDs. A change outdates the bytes of its block; the next
 * list copies the other blocks' bytes and encodes that one.
 */
export class Collection {
  readonly resource: Resource;
  /** The site's revision at the last change to any of these records. */
  revision = 0;
  size = 0;
  /** Characters of stored JSON, for the memory budget. */
  characters = 0;
  #blocks = new Map<number, (Kept | undefined)[]>();
  #order: number[] | undefined;
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
    this.revision = Math.max(this.revision, revision);
    for (const list of this.#lists.values()) list.stale.add(number);
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

  /** Every block ends with a separator; the list's end is written over the last one. */
  #encode(encoding: Encoding, previous: KeptList | undefined): KeptList {
    const start = Buffer.from(encoding.listStart);
    const parts: Uint8Array[] = [start];
    const ends = new Map<number, number>();
    let at = start.length;
    let oldStart = start.length;
    for (const number of this.#numbers()) {
      const oldEnd = previous?.ends.get(number);
      const unchanged = previous && oldEnd !== undefined && !previous.stale.has(number);
      const part = unchanged ? previous.bytes.subarray(oldStart, oldEnd) : this.#encodeBlock(number, encoding);
      parts.push(part);
      at += part.length;
      ends.set(number, at);
      oldStart = oldEnd ?? oldStart;
    }
    const separator = this.size > 0 ? Buffer.byteLength(encoding.separator) : 0;
    const end = Buffer.from(encoding.listEnd);
    const bytes = Buffer.concat([...parts, end]);
    if (separator > 0) bytes.copyWithin(at - separator, at);
    return { bytes: bytes.subarray(0, bytes.length - separator), ends, stale: new Set(), compressed: new Map() };
  }

  #encodeBlock(number: number, encoding: Encoding): Uint8Array {
    let text = "";
    for (const kept of this.#blocks.get(number) ?? []) {
      if (kept) text += encoding.item(this.resource, kept.json) + encoding.separator;
    }
    return Buffer.from(text);
  }

  #numbers(): readonly number[] {
    this.#order ??= [...this.#blocks.keys()].sort((a, b) => a - b);
    return this.#order;
  }
}
