// The texts that records are filtered and sorted by.

import { foldCase } from "../../lib/fold-case.ts";
import { type StorefrontRecord, type Values, valueAt } from "../../model/record.ts";
import type { Leaf } from "../../model/resource.ts";

/** A text of a record: that of a field, or of the ID. */
export interface Facet {
  /** Unique among the facets of a resource. */
  readonly name: string;
  of(record: StorefrontRecord): string;
}

/** The texts of all fields and the ID together, a line each. */
export const anyField = "any";

/** The text in a field, in all of them, or the digits of the ID where `leaf` is undefined; `folded` without regard to case. */
export function toFacet(leaf: Leaf | typeof anyField | undefined, folded = false): Facet {
  const of = (record: StorefrontRecord) => {
    if (leaf === anyField) return allTexts(record);
    return leaf ? valueAt(record, leaf) : String(record.ID);
  };
  const name = facetName(leaf);
  return folded ? { name: `${name}~`, of: (record) => foldCase(of(record)) } : { name, of };
}

export interface Order {
  /** Undefined for the ID. */
  readonly leaf: Leaf | undefined;
  readonly descending: boolean;
}

// The root collation of Unicode: names sort as people expect, in any language of the server.
const collator = new Intl.Collator("und");

/** The sort key of a record. */
export interface SortKey {
  readonly id: number;
  /** One for each facet of the order. */
  readonly texts: readonly string[];
}

/** The facets of a sort key: the fields of the order, without the ID. */
export function facetsOf(sort: readonly Order[]): readonly Facet[] {
  return sort.flatMap(({ leaf }) => (leaf ? [toFacet(leaf)] : []));
}

/** Below 0 where `a` comes before `b`; 0 for the same record only. */
export function compareKeys(a: SortKey, b: SortKey, sort: readonly Order[]): number {
  let field = 0;
  for (const { leaf, descending } of sort) {
    const order = leaf ? compareTexts(a.texts[field] as string, b.texts[field++] as string) : a.id - b.id;
    if (order !== 0) return descending ? -order : order;
  }
  return a.id - b.id;
}

/** The number of records of `ordered` that come before `key`, by binary search. */
export function placeFor(
  key: SortKey,
  ordered: readonly number[],
  keyOf: (id: number) => SortKey,
  sort: readonly Order[],
): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keyOf(ordered[middle] as number), key, sort) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A name that is unique among the orders of a resource. */
export function nameOfOrder({ leaf, descending }: Order): string {
  return `${descending ? "-" : ""}${facetName(leaf)}`;
}

/** A name that is unique among the texts of a record. */
export function facetName(leaf: Leaf | typeof anyField | undefined): string {
  return leaf === anyField ? "*" : (leaf?.path ?? "ID");
}

function allTexts(values: StorefrontRecord | Values): string {
  return Object.values(values)
    .map((value) => (typeof value === "object" ? allTexts(value) : value))
    .join("\n");
}

/** Equal texts are common, and need no collation. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : collator.compare(a, b);
}
