import { type StorefrontRecord, valueAt } from "../model/record.ts";
import type { Leaf } from "../model/resource.ts";

/** A text that a record is found or sorted by. */
export interface Facet {
  /** Tells facets of a resource apart. */
  readonly name: string;
  /** The text in the record `json`. */
  of(json: string): string;
}

/** The text in a field, or the digits of the ID where `leaf` is undefined; `folded` without regard to case. */
export function toFacet(leaf: Leaf | undefined, folded = false): Facet {
  const textOf = (json: string) => {
    const record = JSON.parse(json) as StorefrontRecord;
    return leaf ? valueAt(record, leaf) : String(record.ID);
  };
  const name = leaf?.path ?? "ID";
  return folded ? { name: `${name}~`, of: (json) => textOf(json).toLowerCase() } : { name, of: textOf };
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
