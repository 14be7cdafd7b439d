import { type StorefrontRecord, valueAt } from "../model/record.ts";
import type { Leaf } from "../model/resource.ts";

/** A text that a record is found or sorted by. */
export interface Facet {
  /** Tells facets of a resource apart. */
  readonly name: string;
  /** The text in `record`. */
  of(record: StorefrontRecord): string;
}

/** The text in a field, or the digits of the ID where `leaf` is undefined; `folded` without regard to case. */
export function toFacet(leaf: Leaf | undefined, folded = false): Facet {
  const of = (record: StorefrontRecord) => (leaf ? valueAt(record, leaf) : String(record.ID));
  const name = leaf?.path ?? "ID";
  return folded ? { name: `${name}~`, of: (record) => of(record).toLowerCase() } : { name, of };
}

/** A facet of neighbouring records. */
export class Column {
  readonly facet: Facet;
  readonly texts: readonly string[];
  /** Whether anybody asked for it since its records changed. */
  isUsed = false;

  constructor(facet: Facet, texts: readonly string[]) {
    this.facet = facet;
    this.texts = texts;
  }

  /** About how many bytes it takes. */
  get bytes(): number {
    return this.texts.reduce((bytes, text) => bytes + text.length + 48, 100);
  }
}
