// Some of a collection's records, in an order: what a list with `filter` or `sort` asks for. Orders are kept, and a change
// moves its one record in them.

import { valueAt } from "../model/record.ts";
import type { Leaf } from "../model/resource.ts";
import type { Kept } from "./kept.ts";

export interface Order {
  /** Undefined for the ID. */
  readonly leaf: Leaf | undefined;
  readonly descending: boolean;
}

export interface Filter {
  /** Undefined for the ID. */
  readonly leaf: Leaf | undefined;
  readonly operator: "equals" | "contains";
  readonly value: string;
}

/** What is selected from: a collection of records. */
interface Source extends Iterable<Kept> {
  /** Counts every change. */
  readonly changes: number;
  get(id: number): Kept | undefined;
  /** The IDs of the records that changed since there were `changes`; undefined when they are too many to be known. */
  changedSince(changes: number): ReadonlySet<number> | undefined;
}

interface KeptOrder {
  readonly records: readonly Kept[];
  /** The collection's number of changes at that time. */
  readonly changes: number;
}

/** How many orders and how many selections of a collection are kept. */
const mostOrders = 16;
const mostSelections = 64;

// The root collation of Unicode: names sort as people expect, whatever the server's language.
const collator = new Intl.Collator("und");

export class Selections {
  readonly #collection: Source;
  readonly #orders = new Map<string, KeptOrder>();
  readonly #selections = new Map<string, readonly Kept[]>();
  #changes = -1;

  constructor(collection: Source) {
    this.#collection = collection;
  }

  /** The records that pass every filter, in the order of `sort` and then of their IDs. */
  select(filters: readonly Filter[], sort: readonly Order[]): readonly Kept[] {
    if (this.#changes !== this.#collection.changes) this.#selections.clear();
    this.#changes = this.#collection.changes;
    const name = JSON.stringify([filters.map(nameOfFilter), nameOfSort(sort)]);
    const kept = this.#selections.get(name);
    if (kept) return kept;
    const ordered = this.#ordered(sort);
    const selected = filters.length === 0 ? ordered : ordered.filter((record) => passes(record, filters));
    if (this.#selections.size >= mostSelections) this.#selections.clear();
    this.#selections.set(name, selected);
    return selected;
  }

  #ordered(sort: readonly Order[]): readonly Kept[] {
    const name = nameOfSort(sort);
    const kept = this.#orders.get(name);
    const { changes } = this.#collection;
    if (kept?.changes === changes) return kept.records;
    const changed = kept && this.#collection.changedSince(kept.changes);
    const records = changed ? patch(kept.records, changed, this.#collection, sort) : inOrder(this.#collection, sort);
    if (!kept && this.#orders.size >= mostOrders) this.#orders.clear();
    this.#orders.set(name, { records, changes });
    return records;
  }
}

function inOrder(collection: Source, sort: readonly Order[]): readonly Kept[] {
  const records = [...collection];
  return sort.length === 0 ? records : records.sort((a, b) => compare(a, b, sort));
}

/** `before` with the records in `changed` taken out, and put where they belong now. */
function patch(
  before: readonly Kept[],
  changed: ReadonlySet<number>,
  collection: Source,
  sort: readonly Order[],
): readonly Kept[] {
  const still = before.filter((record) => !changed.has(record.id));
  const added = [...changed].flatMap((id) => collection.get(id) ?? []);
  const places = added.map((record) => ({ record, at: placeFor(record, still, sort) }));
  places.sort((a, b) => a.at - b.at || compare(a.record, b.record, sort));
  const merged: Kept[] = [];
  let from = 0;
  for (const { record, at } of places) {
    for (; from < at; from++) merged.push(still[from] as Kept);
    merged.push(record);
  }
  for (; from < still.length; from++) merged.push(still[from] as Kept);
  return merged;
}

/** How many of `ordered` come before `record`, by halving. */
function placeFor(record: Kept, ordered: readonly Kept[], sort: readonly Order[]): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(ordered[middle] as Kept, record, sort) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: Kept, b: Kept, sort: readonly Order[]): number {
  for (const { leaf, descending } of sort) {
    const order = leaf ? collator.compare(textOf(a, leaf), textOf(b, leaf)) : a.id - b.id;
    if (order !== 0) return descending ? -order : order;
  }
  return a.id - b.id;
}

function passes(record: Kept, filters: readonly Filter[]): boolean {
  return filters.every(({ leaf, operator, value }) => {
    if (operator === "equals") return (leaf ? textOf(record, leaf) : String(record.id)) === value;
    return (leaf ? foldedTextOf(record, leaf) : String(record.id)).includes(value.toLowerCase());
  });
}

/** The text of a field; once it was asked for, it stays with the record. */
function textOf(record: Kept, leaf: Leaf): string {
  record.texts ??= {};
  record.texts[leaf.path] ??= valueAt(JSON.parse(record.json), leaf);
  return record.texts[leaf.path] as string;
}

/** The same without regard to case. */
function foldedTextOf(record: Kept, leaf: Leaf): string {
  const name = `${leaf.path}~`;
  const known = record.texts?.[name];
  if (known !== undefined) return known;
  const folded = textOf(record, leaf).toLowerCase();
  (record.texts as Record<string, string>)[name] = folded;
  return folded;
}

function nameOfSort(sort: readonly Order[]): string {
  return sort.map(({ leaf, descending }) => `${descending ? "-" : ""}${leaf?.path ?? "ID"}`).join(",");
}

function nameOfFilter({ leaf, operator, value }: Filter): readonly string[] {
  return [leaf?.path ?? "ID", operator, value];
}
