import { foldCase } from "../../lib/fold-case.ts";
import type { Steps } from "../../lib/slices.ts";
import type { Leaf } from "../../model/resource.ts";
import type { Block, BlockRecord } from "./block.ts";
import { type anyField, type Facet, toFacet } from "./order.ts";

export interface RecordFilter {
  /** `any` for all of them together, with `contains`; undefined for the ID. */
  readonly leaf: Leaf | typeof anyField | undefined;
  readonly operator: "equals" | "contains" | "in";
  /** One text; for `in`, any number of them. */
  readonly values: readonly string[];
}

/** The IDs of the records that pass every filter, in ID order, in one pass over the records. */
export function* pick(blocks: readonly Block[], filters: readonly RecordFilter[]): Steps<number[]> {
  const byId = filters.filter(({ leaf }) => !leaf).map(toTest);
  const byField = filters.filter(({ leaf }) => leaf).map(toTest);
  const facets = byField.map(({ facet }) => facet);
  const isNamed = (id: number) => byId.every(({ passes }) => passes(String(id)));
  const picked: number[] = [];
  for (const block of blocks) {
    yield;
    if (!block.ids.some(isNamed)) continue;
    const columns = block.columns(facets);
    block.ids.forEach((id, index) => {
      if (isNamed(id) && byField.every(({ passes }, which) => passes(columns[which]?.[index] as string)))
        picked.push(id);
    });
  }
  return picked;
}

/** Whether a record passes every filter. */
export function toPredicate(filters: readonly RecordFilter[]): (record: BlockRecord) => boolean {
  const tests = filters.map(toTest);
  const facets = tests.map(({ facet }) => facet);
  return ({ block, index }) => {
    const texts = block.texts(index, facets);
    return tests.every(({ passes }, which) => passes(texts[which] as string));
  };
}

/** A filter on a facet. */
interface Test {
  readonly facet: Facet;
  passes(text: string): boolean;
}

function toTest({ leaf, operator, values }: RecordFilter): Test {
  if (operator === "contains") {
    const folded = values.map(foldCase);
    return { facet: toFacet(leaf, true), passes: (text) => folded.some((value) => text.includes(value)) };
  }
  const wanted = new Set(values);
  return { facet: toFacet(leaf), passes: (text) => wanted.has(text) };
}
