import { type Encoding, stored } from "../model/encoding.ts";
import type { StorefrontRecord } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { Column, type Facet } from "./column.ts";
import type { Kept } from "./kept.ts";
import { type Item, Stretch } from "./stretch.ts";
import { Tally } from "./tally.ts";

/** Most columns that a block keeps. */
const mostColumns = 4;

/** A record that lies in a block. */
export class Row implements Kept {
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
    return this.block.item(this.index, stored);
  }
}

/**
 * Neighbouring records of a collection, as the bytes that they are in a list, and fields of them. It stays as it is: after
 * a change, another block takes its place and copies from it what is still the same.
 */
export class Block {
  /** In ascending order; at least one. */
  readonly ids: readonly number[];
  readonly revisions: readonly number[];
  readonly tally: Tally;
  readonly #resource: Resource;
  readonly #stretches = new Map<string, Stretch>();
  readonly #columns = new Map<string, Column>();
  /** How many items were made one by one, for want of a stretch. */
  #single = 0;

  /**
   * @param records in ID order
   * @param sources the blocks that rows among `records` lie in; what they were asked for, this has as well
   */
  constructor(resource: Resource, records: readonly Kept[], sources: readonly Block[], whole: Tally) {
    this.ids = records.map(({ id }) => id);
    this.revisions = records.map(({ revision }) => revision);
    this.tally = new Tally(whole);
    this.tally.add(1200 + 16 * records.length);
    this.#resource = resource;
    this.#encode(stored, records);
    for (const source of sources) {
      for (const [name, { encoding, isUsed }] of source.#stretches) {
        if (isUsed && !this.#stretches.has(name)) this.#encode(encoding, records);
      }
      const used = [...source.#columns.values()].filter(({ isUsed }) => isUsed).map(({ facet }) => facet);
      this.#gather(used, () => records);
    }
  }

  get first(): number {
    return this.ids[0] as number;
  }

  get size(): number {
    return this.ids.length;
  }

  get rows(): Row[] {
    return this.ids.map((_, index) => new Row(this, index));
  }

  find(id: number): Row | undefined {
    const index = this.#indexOf(id);
    return index === undefined ? undefined : new Row(this, index);
  }

  /** A record as it stands in a list in `encoding`. */
  item(index: number, encoding: Encoding): string {
    const item = this.itemOrPlace(index, encoding);
    return typeof item === "string" ? item : item.stretch.text(index);
  }

  /** The same, but where its bytes are if they are kept. */
  itemOrPlace(index: number, encoding: Encoding): Item | string {
    let stretch = this.#stretches.get(encoding.name);
    // Who asks for many will ask for the rest: then all are made at once, and kept.
    if (!stretch && ++this.#single > this.size / 4) stretch = this.stretch(encoding);
    if (!stretch) return encoding.item(this.#resource, this.item(index, stored));
    stretch.isUsed = true;
    return { stretch, index };
  }

  stretch(encoding: Encoding): Stretch {
    return this.#stretches.get(encoding.name) ?? this.#encode(encoding, this.rows);
  }

  /** The texts of every record, facet by facet. What is not kept is gathered in one pass over the records. */
  columns(facets: readonly Facet[]): readonly (readonly string[])[] {
    return this.#gather(facets, () => this.rows).map((column) => {
      column.isUsed = true;
      return column.texts;
    });
  }

  /** The texts of one record, facet by facet. */
  texts(index: number, facets: readonly Facet[]): readonly string[] {
    let record: StorefrontRecord | undefined;
    return facets.map((facet) => {
      const column = this.#columns.get(facet.name);
      if (column) {
        column.isUsed = true;
        return column.texts[index] as string;
      }
      record ??= JSON.parse(this.item(index, stored)) as StorefrontRecord;
      return facet.of(record);
    });
  }

  /** Another block has taken its place. */
  drop(): void {
    this.tally.drop();
    for (const stretch of this.#stretches.values()) stretch.drop();
  }

  /** IDs that follow one another without a gap need no search. */
  #indexOf(id: number): number | undefined {
    const guess = id - this.first;
    if (this.ids[guess] === id) return guess;
    const index = this.ids.indexOf(id);
    return index === -1 ? undefined : index;
  }

  #encode(encoding: Encoding, records: readonly Kept[]): Stretch {
    const items = records.map((record) => this.#itemOf(record, encoding));
    const stretch = new Stretch(encoding, items, this.tally);
    this.#stretches.set(encoding.name, stretch);
    return stretch;
  }

  #itemOf(record: Kept, encoding: Encoding): Item | string {
    const stretch = record instanceof Row ? record.block.#stretches.get(encoding.name) : undefined;
    return stretch ? { stretch, index: (record as Row).index } : encoding.item(this.#resource, record.json);
  }

  /** The columns of `facets`. Those that are not kept are made in one pass over `records`, and kept unless they are many. */
  #gather(facets: readonly Facet[], records: () => readonly Kept[]): Column[] {
    const columns = new Map(this.#columns);
    const byName = new Map(facets.map((facet) => [facet.name, facet]));
    const missing = [...byName.values()].filter(({ name }) => !columns.has(name));
    if (missing.length > 0) {
      const rows = records().map((record) => textsOf(record, missing));
      for (const [which, facet] of missing.entries()) {
        const texts = rows.map((row) => row[which] as string);
        columns.set(facet.name, new Column(facet, texts));
      }
      if (missing.length <= mostColumns) for (const { name } of missing) this.#keep(columns.get(name) as Column);
    }
    return facets.map(({ name }) => columns.get(name) as Column);
  }

  #keep(column: Column): void {
    if (this.#columns.size >= mostColumns) {
      for (const { bytes } of this.#columns.values()) this.tally.add(-bytes);
      this.#columns.clear();
    }
    this.#columns.set(column.facet.name, column);
    this.tally.add(column.bytes);
  }
}

/** The texts of a record, facet by facet. It is parsed once, and not at all where all of them are kept. */
export function textsOf(record: Kept, facets: readonly Facet[]): readonly string[] {
  if (facets.length === 0) return [];
  if (record instanceof Row) return record.block.texts(record.index, facets);
  const parsed = JSON.parse(record.json) as StorefrontRecord;
  return facets.map((facet) => facet.of(parsed));
}
