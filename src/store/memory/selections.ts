// Selections: the IDs of the records that a list with `filter` or `sort` contains, in its order. They are kept. After a few changes,
// only the changed records are moved.

import type { Steps } from "../../lib/event-loop.ts";
import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { WorkLimiter } from "../../lib/work-limiter.ts";
import type { Block, BlockRecord } from "./block.ts";
import type { Version } from "./collection-version.ts";
import {
  compareKeys,
  facetName,
  facetsOf,
  filtered,
  nameOfOrder,
  type Order,
  pick,
  placeFor,
  type RecordFilter,
  type SortKey,
  sorted,
  toPredicate,
} from "./order.ts";

interface Selection {
  readonly ids: readonly number[];
  /** The number of the version that it was made from. */
  readonly version: number;
}

/** Limits of the kept selections of a collection: their number, and their bytes together. */
const maxSelections = 64;
const maxBytes = 16 * 1024 * 1024;
/** Maximum changes after which a selection is patched. After more, a new one is made. */
const maxRecent = 256;

/** IDs that are gathered between two pauses. */
const idsPerStep = 4096;

export class Selections {
  /** The least recently used first. */
  readonly #kept = new Map<string, Selection>();
  readonly #limiter: WorkLimiter;
  #bytes = 0;
  /** The IDs of the records that changed between each of the latest versions and the next one. */
  #recent: { readonly version: number; readonly ids: readonly number[] }[] = [];

  constructor(limiter: WorkLimiter) {
    this.#limiter = limiter;
  }

  /** The IDs of the records of `version` that pass every filter, in the order of `sort` and then of the IDs. @throws AbandonedWork */
  select(
    version: Version,
    filters: readonly RecordFilter[],
    sort: readonly Order[],
    isWanted: () => boolean,
  ): MaybePromise<readonly number[]> {
    const name = JSON.stringify([filters.map(nameOfFilter), sort.map(nameOfOrder)]);
    const before = this.#kept.get(name);
    if (before?.version === version.number) return this.#keep(name, before);
    const make = () => this.#make(version, filters, sort, this.#kept.get(name));
    return after(this.#limiter.run(`selection ${version.number} ${name}`, make, isWanted), (ids) =>
      this.#keep(name, { ids, version: version.number }),
    );
  }

  /** Stores the IDs of the records that changed between `version` and the next one. */
  noteChanged(version: number, ids: ReadonlySet<number>): void {
    if (ids.size > maxRecent) this.#recent = [];
    else this.#recent.push({ version, ids: [...ids] });
    let count = this.#recent.reduce((sum, change) => sum + change.ids.length, 0);
    while (count > maxRecent) count -= this.#recent.shift()?.ids.length ?? 0;
  }

  /** About how many bytes the selections take. */
  memoryUse(): number {
    return this.#bytes;
  }

  *#make(
    version: Version,
    filters: readonly RecordFilter[],
    sort: readonly Order[],
    before: Selection | undefined,
  ): Steps<readonly number[]> {
    const changed = before && this.#changedBetween(before.version, version.number);
    if (before && changed) return yield* patched(before.ids, changed, version, filters, sort);
    if (filters.length === 0) return yield* sort.length === 0 ? idsOf(version.blocks) : inOrder(version.blocks, sort);
    const ids = yield* pick(version.blocks, filters);
    if (sort.length === 0) return ids;
    // An order of all records serves every filter, so it is made and kept.
    const ordered = yield* this.#ordered(version, sort);
    const passing = yield* setOf(ids);
    return yield* filtered(ordered, (id) => passing.has(id));
  }

  /** All records in the order of `sort`. */
  *#ordered(version: Version, sort: readonly Order[]): Steps<readonly number[]> {
    const name = JSON.stringify([[], sort.map(nameOfOrder)]);
    const kept = this.#kept.get(name);
    const ids = kept?.version === version.number ? kept.ids : yield* this.#make(version, [], sort, kept);
    return this.#keep(name, { ids, version: version.number });
  }

  /** The IDs of the records that differ between two versions; undefined if they are no longer known. */
  #changedBetween(from: number, to: number): ReadonlySet<number> | undefined {
    const changes = this.#recent.filter(({ version }) => version >= from && version < to);
    return from < to && changes.length === to - from ? new Set(changes.flatMap(({ ids }) => ids)) : undefined;
  }

  #keep(name: string, selection: Selection): readonly number[] {
    this.#forget(name);
    this.#kept.set(name, selection);
    this.#bytes += bytesOf(name, selection);
    for (const oldest of this.#kept.keys()) {
      if (oldest === name || (this.#kept.size <= maxSelections && this.#bytes <= maxBytes)) break;
      this.#forget(oldest);
    }
    return selection.ids;
  }

  #forget(name: string): void {
    const selection = this.#kept.get(name);
    if (!selection) return;
    this.#kept.delete(name);
    this.#bytes -= bytesOf(name, selection);
  }
}

/** The IDs of all records, sorted. */
function* inOrder(blocks: readonly Block[], sort: readonly Order[]): Steps<number[]> {
  const facets = facetsOf(sort);
  const keys: SortKey[] = [];
  for (const block of blocks) {
    yield;
    const columns = block.columns(facets);
    block.ids.forEach((id, index) => void keys.push({ id, texts: columns.map((texts) => texts[index] as string) }));
  }
  const all = yield* sorted(keys, (a, b) => compareKeys(a, b, sort));
  const ids: number[] = [];
  for (const { id } of all) {
    ids.push(id);
    if (ids.length % idsPerStep === 0) yield;
  }
  return ids;
}

function* setOf(ids: readonly number[]): Steps<Set<number>> {
  const set = new Set<number>();
  for (const id of ids) {
    set.add(id);
    if (set.size % idsPerStep === 0) yield;
  }
  return set;
}

/** The IDs of all records. */
function* idsOf(blocks: readonly Block[]): Steps<number[]> {
  const ids: number[] = [];
  for (const block of blocks) {
    for (const id of block.ids) ids.push(id);
    yield;
  }
  return ids;
}

function nameOfFilter({ leaf, operator, values }: RecordFilter): readonly string[] {
  return [facetName(leaf), operator, ...values];
}

/** About how many bytes a selection takes. */
function bytesOf(name: string, { ids }: Selection): number {
  return 200 + 2 * name.length + 8 * ids.length;
}

/** Records that are put in their places between two pauses. */
const placesPerStep = 16;
/** IDs that are merged between two pauses. */
const mergeSize = 4096;

/** `before` without the records `changed`, and with those of them that belong to the selection of `version`, in their places. */
function* patched(
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
