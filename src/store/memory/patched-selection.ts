import { filtered } from "../../lib/filtered.ts";
import type { Steps } from "../../lib/slices.ts";
import type { BlockRecord } from "./block.ts";
import { compareKeys, facetsOf, type Order, placeFor, type SortKey } from "./order.ts";
import { type RecordFilter, toPredicate } from "./record-filter.ts";
import type { Version } from "./version.ts";

/** Records that are put in their places between two pauses. */
const placesPerStep = 16;
/** IDs that are merged between two pauses. */
const mergeSize = 4096;

/** `before` without the records `changed`, and with those of them that belong to the selection of `version`, in their places. */
export function* patched(
  before: readonly number[],
  changed: ReadonlySet<number>,
  version: Version,
  filters: readonly RecordFilter[],
  sort: readonly Order[],
): Steps<readonly number[]> {
  const facets = facetsOf(sort);
  const keyOf = (id: number): SortKey => {
    const { block, index } = version.get(id) as BlockRecord;
    return { id, texts: block.texts(index, facets) };
  };
  const passes = toPredicate(filters);
  const still = yield* filtered(before, (id) => !changed.has(id));
  const places: { readonly key: SortKey; readonly at: number }[] = [];
  let steps = 0;
  for (const id of changed) {
    const record = version.get(id);
    if (record && passes(record)) {
      const key = keyOf(id);
      places.push({ key, at: placeFor(key, still, keyOf, sort) });
    }
    if (++steps % placesPerStep === 0) yield;
  }
  places.sort((a, b) => a.at - b.at || compareKeys(a.key, b.key, sort));
  return yield* merged(still, places);
}

/** `ids` with each key in front of the ID that is at its place. @param places in ascending order */
function* merged(
  ids: readonly number[],
  places: readonly { readonly key: SortKey; readonly at: number }[],
): Steps<number[]> {
  const result: number[] = [];
  let next = 0;
  for (let at = 0; at <= ids.length; at++) {
    for (; places[next]?.at === at; next++) result.push((places[next]?.key as SortKey).id);
    if (at < ids.length) result.push(ids[at] as number);
    if (at % mergeSize === mergeSize - 1) yield;
  }
  return result;
}
