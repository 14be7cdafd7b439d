// Some of a collection's records, in an order: what a list with `filter` or `sort` asks for. Selections are kept, and a
// change moves its one record in them.

import type { Leaf } from "../model/resource.ts";
import { type Block, textsOf } from "./block.ts";
import { type Facet, toFacet } from "./column.ts";
import type { Kept } from "./kept.ts";
import { compare, type Key, nameOfOrder, type Order, placeFor, toFacets, toKey } from "./order.ts";
import { Tally } from "./tally.ts";

export interface Filter {
  /** Undefined for the ID. */
  readonly leaf: Leaf | undefined;
  readonly operator: "equals" | "contains" | "in";
  /** One text; for `in`, any number of them. */
  readonly values: readonly string[];
}

/** What is selected from: a collection of records. */
interface Source {
  readonly blocks: Iterable<Block>;
  readonly size: number;
  /** Counts every change. */
  readonly changes: number;
  get(id: number): Kept | undefined;
  /** The IDs of the records that changed since there were `changes`; undefined when they are too many to be known. */
  changedSince(changes: number): ReadonlySet<number> | undefined;
}

interface Selection {
  readonly ids: readonly number[];
  /** The collection's number of changes at that time. */
  readonly changes: number;
}

/** How many selections of a collection are kept, and how many IDs they have for each record, all together. */
const mostSelections = 64;
const mostIds = 16;

export class Selections {
  readonly #collection: Source;
  readonly #tally: Tally;
  /** The least recently used first. */
  readonly #kept = new Map<string, Selection>();

  constructor(collection: Source, whole: Tally) {
    this.#collection = collection;
    this.#tally = new Tally(whole);
  }

  /** The IDs of the records that pass every filter, in the order of `sort` and then of the IDs. */
  select(filters: readonly Filter[], sort: readonly Order[]): readonly number[] {
    const name = JSON.stringify([filters.map(nameOfFilter), sort.map(nameOfOrder)]);
    const kept = this.#take(name);
    const { changes } = this.#collection;
    const ids = kept?.changes === changes ? kept.ids : this.#selectNow(filters, sort, kept);
    this.#put(name, { ids, changes });
    return ids;
  }

  #selectNow(filters: readonly Filter[], sort: readonly Order[], before: Selection | undefined): readonly number[] {
    const changed = before && this.#collection.changedSince(before.changes);
    if (changed) return patch(before.ids, changed, this.#collection, filters, sort);
    if (sort.length === 0) return pick(this.#collection.blocks, filters);
    if (filters.length === 0) return inOrder(this.#collection.blocks, sort);
    // An order serves whatever the filter is, so it is made whole, and kept.
    const passing = new Set(this.select(filters, []));
    return this.select([], sort).filter((id) => passing.has(id));
  }

  #take(name: string): Selection | undefined {
    const kept = this.#kept.get(name);
    if (kept) {
      this.#kept.delete(name);
      this.#tally.add(-weightOf(name, kept));
    }
    return kept;
  }

  #put(name: string, selection: Selection): void {
    this.#kept.set(name, selection);
    this.#tally.add(weightOf(name, selection));
    const most = Math.max(1 << 16, mostIds * 8 * this.#collection.size);
    for (const [oldest] of this.#kept) {
      if (oldest === name || (this.#kept.size <= mostSelections && this.#tally.bytes <= most)) break;
      this.#take(oldest);
    }
  }
}

/** The IDs of the records that pass every filter, in ID order: one pass over the records, however many filters. */
function pick(blocks: Iterable<Block>, filters: readonly Filter[]): number[] {
  const byId = filters.filter(({ leaf }) => !leaf).map(toTest);
  const byField = filters.filter(({ leaf }) => leaf).map(toTest);
  const facets = byField.map(({ facet }) => facet);
  const isNamed = (id: number) => byId.every(({ passes }) => passes(String(id)));
  const picked: number[] = [];
  for (const block of blocks) {
    if (!block.ids.some(isNamed)) continue;
    const columns = block.columns(facets);
    block.ids.forEach((id, index) => {
      if (isNamed(id) && byField.every(({ passes }, which) => passes(columns[which]?.[index] as string)))
        picked.push(id);
    });
  }
  return picked;
}

/** The IDs of all records, sorted. */
function inOrder(blocks: Iterable<Block>, sort: readonly Order[]): number[] {
  const facets = toFacets(sort);
  const keys: Key[] = [];
  for (const block of blocks) {
    const columns = block.columns(facets);
    block.ids.forEach((id, index) => {
      keys.push({ id, texts: columns.map((column) => column[index] as string) });
    });
  }
  return keys.sort((a, b) => compare(a, b, sort)).map(({ id }) => id);
}

/** `before` with the records in `changed` taken out, and put where they belong now. */
function patch(
  before: readonly number[],
  changed: ReadonlySet<number>,
  collection: Source,
  filters: readonly Filter[],
  sort: readonly Order[],
): readonly number[] {
  const tests = filters.map(toTest);
  const tested = tests.map(({ facet }) => facet);
  const facets = toFacets(sort);
  const keyOf = (id: number) => toKey(collection.get(id) as Kept, facets);
  const still = before.filter((id) => !changed.has(id));
  const added = [...changed].filter((id) => {
    const record = collection.get(id);
    if (!record) return false;
    const texts = textsOf(record, tested);
    return tests.every(({ passes }, which) => passes(texts[which] as string));
  });
  const places = added.map(keyOf).map((key) => ({ key, at: placeFor(key, still, keyOf, sort) }));
  places.sort((a, b) => a.at - b.at || compare(a.key, b.key, sort));
  const merged: number[] = [];
  let from = 0;
  for (const { key, at } of places) {
    for (; from < at; from++) merged.push(still[from] as number);
    merged.push(key.id);
  }
  for (; from < still.length; from++) merged.push(still[from] as number);
  return merged;
}

/** A filter on a facet. */
interface Test {
  readonly facet: Facet;
  passes(text: string): boolean;
}

function toTest({ leaf, operator, values }: Filter): Test {
  if (operator === "contains") {
    const folded = values.map((value) => value.toLowerCase());
    return { facet: toFacet(leaf, true), passes: (text) => folded.some((value) => text.includes(value)) };
  }
  const wanted = new Set(values);
  return { facet: toFacet(leaf), passes: (text) => wanted.has(text) };
}

function nameOfFilter({ leaf, operator, values }: Filter): readonly string[] {
  return [leaf?.path ?? "ID", operator, ...values];
}

/** About how many bytes a selection takes. */
function weightOf(name: string, { ids }: Selection): number {
  return 200 + 2 * name.length + 8 * ids.length;
}
