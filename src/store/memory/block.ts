// A block is up to 128 neighbouring records of a collection, in the bytes that a JSON list has for them, so that lists are sent without encoding
// records again. Versions of a collection share unchanged blocks.
//
// Invariant: the records of a block never change. A change makes a new block, which copies the bytes of the unchanged ones.

import { ByteBuilder, type ByteRange } from "../../lib/bytes.ts";
import { type Encoding, storedEncoding } from "../../model/encoding.ts";
import type { StorefrontRecord } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { JoinedTexts } from "./joined-texts.ts";
import type { MemoryRecord } from "./memory-record.ts";
import { TextPart } from "./text-in-parts.ts";

/** A text to filter or sort records by: a field, all fields together, or the ID. */
export interface TextSource {
  /** Unique among the text sources of a resource. */
  readonly name: string;
  of(record: StorefrontRecord): string;
}

/** Maximum columns cached per block. A column has each record's text for one `TextSource`. */
const maxColumns = 4;

type Column = readonly string[] | JoinedTexts;

export class BlockRecord implements MemoryRecord {
  readonly block: Block;
  readonly index: number;

  constructor(block: Block, index: number) {
    this.block = block;
    this.index = index;
  }

  get id(): number {
    return this.block.ids[this.index] as number;
  }

  get revision(): number {
    return this.block.revisions[this.index] as number;
  }

  get json(): string {
    return this.block.json(this.index);
  }
}

/** Neighbouring records, and data derived from them on first use: other encodings, and columns of texts for filters and sorts. */
export class Block {
  /** In ascending order; at least one. */
  readonly ids: readonly number[];
  readonly revisions: readonly number[];
  readonly #resource: Resource;
  readonly #json: EncodedItems;
  readonly #derived = new Map<string, EncodedItems>();
  /** Cached columns by the name of their text source, least recently used first. */
  readonly #columns = new Map<string, Column>();
  /** Approximate total size. Kept up to date because the memory budget reads it ten times a second. */
  #columnsBytes = 0;

  /** @param records in ID order; those from other blocks are copied as bytes */
  constructor(resource: Resource, records: readonly MemoryRecord[]) {
    this.ids = records.map(({ id }) => id);
    this.revisions = records.map(({ revision }) => revision);
    this.#resource = resource;
    this.#json = new EncodedItems(storedEncoding, records.length, (index, to) => {
      const record = records[index] as MemoryRecord;
      if (record instanceof BlockRecord) record.block.#json.copyItem(record.index, to);
      else to.write(record.json);
    });
  }

  get firstId(): number {
    return this.ids[0] as number;
  }

  get size(): number {
    return this.ids.length;
  }

  records(): BlockRecord[] {
    return this.ids.map((_, index) => new BlockRecord(this, index));
  }

  find(id: number): BlockRecord | undefined {
    // If IDs are consecutive, there's no need to search.
    const guess = id - this.firstId;
    const index = this.ids[guess] === id ? guess : this.ids.indexOf(id);
    return index === -1 ? undefined : new BlockRecord(this, index);
  }

  json(index: number): string {
    return this.#json.text(index);
  }

  /** Returns all records in `encoding`. They're encoded on the first call, then kept in the block. */
  encoded(encoding: Encoding): EncodedItems {
    if (encoding.name === storedEncoding.name) return this.#json;
    let items = this.#derived.get(encoding.name);
    if (!items) {
      items = new EncodedItems(encoding, this.size, (index, to) =>
        to.write(encoding.item(this.#resource, this.json(index))),
      );
      this.#derived.set(encoding.name, items);
    }
    return items;
  }

  /** Appends one record without encoding the others. */
  appendItem(index: number, encoding: Encoding, to: ItemBuilder): void {
    const items = encoding.name === storedEncoding.name ? this.#json : this.#derived.get(encoding.name);
    if (items) items.copyItem(index, to);
    else to.write(encoding.item(this.#resource, this.json(index)));
  }

  /** Returns a column per text source. Those not cached are made in a single pass over the records. */
  columns(sources: readonly TextSource[]): readonly (readonly string[])[] {
    const made = this.#gather(sources.filter(({ name }) => !Array.isArray(this.#columns.get(name))));
    const columns = sources.map(({ name }) => made.get(name) ?? (this.#columns.get(name) as readonly string[]));
    if (sources.length <= maxColumns)
      this.#cacheColumns(new Map(sources.map(({ name }, index) => [name, columns[index] as readonly string[]])));
    return columns;
  }

  /** Returns a column to search in. Use a text source with either this or `columns`, not both. */
  joinedColumn(source: TextSource): JoinedTexts {
    const cached = this.#columns.get(source.name);
    const column =
      cached instanceof JoinedTexts
        ? cached
        : new JoinedTexts(this.#gather([source]).get(source.name) as readonly string[]);
    this.#cacheColumns(new Map([[source.name, column]]));
    return column;
  }

  /** Returns the texts of one record, one per text source. */
  texts(index: number, sources: readonly TextSource[]): readonly string[] {
    let record: StorefrontRecord | undefined;
    return sources.map((source) => {
      const cached = this.#columns.get(source.name)?.at(index);
      if (cached !== undefined) return cached;
      record ??= JSON.parse(this.json(index)) as StorefrontRecord;
      return source.of(record);
    });
  }

  estimateBytes(): number {
    let use = 1000 + 16 * this.size + this.#json.estimateBytes() + this.#columnsBytes;
    for (const items of this.#derived.values()) use += items.estimateBytes();
    return use;
  }

  /** Makes columns in a single pass over the records. Returns them by the name of their text source. */
  #gather(sources: readonly TextSource[]): ReadonlyMap<string, readonly string[]> {
    const columns = new Map(sources.map((source) => [source.name, { source, texts: [] as string[] }]));
    for (let index = 0; columns.size > 0 && index < this.size; index++) {
      const record = JSON.parse(this.json(index)) as StorefrontRecord;
      for (const { source, texts } of columns.values()) texts.push(source.of(record));
    }
    return new Map([...columns].map(([name, { texts }]) => [name, texts]));
  }

  /** Caches `used` as the most recently used columns, and evicts others. */
  #cacheColumns(used: ReadonlyMap<string, Column>): void {
    for (const [name, texts] of used) {
      if (!this.#columns.delete(name)) this.#columnsBytes += estimateColumnBytes(texts);
      this.#columns.set(name, texts);
    }
    for (const [name, texts] of this.#columns) {
      if (this.#columns.size <= maxColumns) break;
      this.#columns.delete(name);
      this.#columnsBytes -= estimateColumnBytes(texts);
    }
  }
}

function estimateColumnBytes(texts: Column): number {
  if (texts instanceof JoinedTexts) return texts.estimateBytes();
  return texts.reduce((use, text) => use + 48 + text.length, 100);
}

// One builder is enough, because each constructor takes its items out before it returns.
const builder = new ByteBuilder();

/** The items of neighbouring records in one encoding, each after a separator. */
class EncodedItems {
  readonly #part: TextPart;
  /** Without the first separator, for the start of a list. Made on first use. */
  #firstPart: TextPart | undefined;
  /** Where each item ends, in bytes. */
  readonly #ends: Uint32Array;
  readonly #separatorLength: number;

  /** @param append appends item `index`, perhaps by copying it from other items in this encoding */
  constructor({ separator }: Encoding, count: number, append: (index: number, to: ItemBuilder) => void) {
    this.#ends = new Uint32Array(count);
    this.#separatorLength = Buffer.byteLength(separator);
    builder.clear();
    for (let index = 0; index < count; index++) {
      builder.write(separator);
      append(index, builder);
      this.#ends[index] = builder.length;
    }
    this.#part = new TextPart(builder.take());
  }

  text(index: number): string {
    return this.#part.bytes.toString("utf8", this.#start(index), this.#ends[index]);
  }

  /** Returns the bytes of an item, without its separator. */
  range(index: number): ByteRange {
    return { source: this.#part.bytes, start: this.#start(index), end: this.#ends[index] as number };
  }

  /** Appends an item, without its separator. */
  copyItem(index: number, to: ItemBuilder): void {
    to.copy(this.#part.bytes, this.#start(index), this.#ends[index] as number);
  }

  /** Returns all items as part of a list. @param isFirst whether it's the first part */
  part(isFirst: boolean): TextPart {
    if (!isFirst) return this.#part;
    this.#firstPart ??= new TextPart(this.#part.bytes.subarray(this.#separatorLength));
    return this.#firstPart;
  }

  estimateBytes(): number {
    // The allocator rounds up, by at most an eighth.
    const bytes = 500 + this.#part.bytes.length * 1.125 + 4 * this.#ends.length;
    return bytes + this.#part.estimateCompressedBytes() + (this.#firstPart?.estimateCompressedBytes() ?? 0);
  }

  #start(index: number): number {
    return (index === 0 ? 0 : (this.#ends[index - 1] as number)) + this.#separatorLength;
  }
}

/** What items are appended to. */
type ItemBuilder = Pick<ByteBuilder, "write" | "copy">;
