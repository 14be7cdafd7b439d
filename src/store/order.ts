// What orders the records of a list.

import type { Leaf } from "../model/resource.ts";
import { textsOf } from "./block.ts";
import { type Facet, toFacet } from "./column.ts";
import type { Kept } from "./kept.ts";

export interface Order {
  /** Undefined for the ID. */
  readonly leaf: Leaf | undefined;
  readonly descending: boolean;
}

// The root collation of Unicode: names sort as people expect, whatever the server's language.
const collator = new Intl.Collator("und");

/** What decides the place of a record in an order. */
export interface Key {
  readonly id: number;
  /** One for each facet of the order. */
  readonly texts: readonly string[];
}

export function toKey(record: Kept, facets: readonly Facet[]): Key {
  return { id: record.id, texts: textsOf(record, facets) };
}

/** What `toKey` looks at: the fields of the order, without the ID. */
export function toFacets(sort: readonly Order[]): readonly Facet[] {
  return sort.flatMap(({ leaf }) => (leaf ? [toFacet(leaf)] : []));
}

/** Below 0 where `a` comes before `b`; 0 for the same record only. */
export function compare(a: Key, b: Key, sort: readonly Order[]): number {
  let field = 0;
  for (const { leaf, descending } of sort) {
    const order = leaf ? compareTexts(a.texts[field] as string, b.texts[field++] as string) : a.id - b.id;
    if (order !== 0) return descending ? -order : order;
  }
  return a.id - b.id;
}

/** Equal texts are common, and need no collation. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : collator.compare(a, b);
}

/** How many of `ordered` come before `key`, by halving. */
export function placeFor(
  key: Key,
  ordered: readonly number[],
  keyOf: (id: number) => Key,
  sort: readonly Order[],
): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(keyOf(ordered[middle] as number), key, sort) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What tells orders apart. */
export function nameOfOrder({ leaf, descending }: Order): string {
  return `${descending ? "-" : ""}${leaf?.path ?? "ID"}`;
}
