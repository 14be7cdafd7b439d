import { type Encoding, storedEncoding } from "../../model/encoding.ts";
import type { StorefrontRecord } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { EncodedItems, type ItemBuilder } from "./encoded-items.ts";
import type { Facet } from "./order.ts";
import type { MemoryRecord } from "./record.ts";

/** Maximum columns that a block keeps. */
const maxColumns = 4;

/** A record in a block. */
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
    return this.block.text(this.index);
  }
}

/**
 * Neighbouring records of a collection: their bytes in a JSON list, and derived data (other encodings, texts of fields). The
 * records of a block never change; a change replaces the block.
 */
export class Block {
  /** In ascending order; at least one. */
  readonly ids: readonly number[];
  readonly revisions: readonly number[];
  readonly #resource: Resource;
  readonly #json: EncodedItems;
  readonly #derived = new Map<string, EncodedItems>();
  /** Texts of fields, by the name of the facet. The least recently used first. */
  readonly #columns = new Map<string, readonly string[]>();
  /** Their approximate size in bytes, counted once, since the memory budget reads it ten times a second. */
  #columnsUse = 0;

  /** @param records in ID order; records of other blocks are copied as bytes */
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

  get first(): number {
    return this.ids[0] as number;
  }

  get size(): number {
    return this.ids.length;
  }

  /** Its records, in ID order. */
  records(): BlockRecord[] {
    return this.ids.map((_, index) => new BlockRecord(this, index));
  }

  find(id: number): BlockRecord | undefined {
    // Consecutive IDs need no search.
    const guess = id - this.first;
    const index = this.ids[guess] === id ? guess : this.ids.indexOf(id);
    return index === -1 ? undefined : new BlockRecord(this, index);
  }

  /** A record as JSON text. */
  text(index: number): string {
    return this.#json.text(index);
  }

  /** All records in `encoding`; made on the first call, and kept. */
  encoded(encoding: Encoding): EncodedItems {
    if (encoding.name === storedEncoding.name) return this.#json;
    let items = this.#derived.get(encoding.name);
    if (!items) {
      items = new EncodedItems(encoding, this.size, (index, to) =>
        to.write(encoding.item(this.#resource, this.text(index))),
      );
      this.#derived.set(encoding.name, items);
    }
    return items;
  }

  /** Appends one record in `encoding`, without encoding the others. */
  appendItem(index: number, encoding: Encoding, to: ItemBuilder): void {
    const items = encoding.name === storedEncoding.name ? this.#json : this.#derived.get(encoding.name);
    if (items) items.copyItem(index, to);
    else to.write(encoding.item(this.#resource, this.text(index)));
  }

  /** The texts of every record, facet by facet. Texts that are not kept are collected in one pass over the records. */
  columns(facets: readonly Facet[]): readonly (readonly string[])[] {
    const made = this.#gather(facets.filter(({ name }) => !this.#columns.has(name)));
    const columns = facets.map(({ name }) => this.#columns.get(name) ?? (made.get(name) as readonly string[]));
    if (facets.length <= maxColumns)
      this.#keepColumns(new Map(facets.map(({ name }, index) => [name, columns[index] as readonly string[]])));
    return columns;
  }

  /** The texts of one record, facet by facet. */
  texts(index: number, facets: readonly Facet[]): readonly string[] {
    let record: StorefrontRecord | undefined;
    return facets.map((facet) => {
      const kept = this.#columns.get(facet.name)?.[index];
      if (kept !== undefined) return kept;
      record ??= JSON.parse(this.text(index)) as StorefrontRecord;
      return facet.of(record);
    });
  }

  /** About how many bytes it takes. */
  memoryUse(): number {
    let use = 1000 + 16 * this.size + this.#json.memoryUse() + this.#columnsUse;
    for (const items of this.#derived.values()) use += items.memoryUse();
    return use;
  }

  /** The texts of all records, by the names of the facets. */
  #gather(facets: readonly Facet[]): ReadonlyMap<string, readonly string[]> {
    const columns = new Map(facets.map((facet) => [facet.name, { facet, texts: [] as string[] }]));
    for (let index = 0; columns.size > 0 && index < this.size; index++) {
      const record = JSON.parse(this.text(index)) as StorefrontRecord;
      for (const { facet, texts } of columns.values()) texts.push(facet.of(record));
    }
    return new Map([...columns].map(([name, { texts }]) => [name, texts]));
  }

  /** Keeps `used` as the most recently used columns. */
  #keepColumns(used: ReadonlyMap<string, readonly string[]>): void {
    for (const [name, texts] of used) {
      if (!this.#columns.delete(name)) this.#columnsUse += bytesOf(texts);
      this.#columns.set(name, texts);
    }
    for (const [name, texts] of this.#columns) {
      if (this.#columns.size <= maxColumns) break;
      this.#columns.delete(name);
      this.#columnsUse -= bytesOf(texts);
    }
  }
}

/** About how many bytes a column takes. */
function bytesOf(texts: readonly string[]): number {
  return texts.reduce((use, text) => use + 48 + text.length, 100);
}
