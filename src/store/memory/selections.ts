// A selection holds the IDs of a list with `filter`, `sort` or `limit`, in order and across all pages. Selections are cached. After a few changes, a
// selection is patched, so that only the changed records move.

import { type MaybePromise, whenResolved } from "../../lib/maybe-promise.ts";
import type { Steps } from "../../lib/slices.ts";
import type { WorkLimiter } from "../../lib/work-limiter.ts";
import type { Block, BlockRecord } from "./block.ts";
import type { CollectionVersion } from "./collection-version.ts";
import {
  compareKeys,
  filterIds,
  filterInSteps,
  indexForKey,
  nameOfSortField,
  type RecordFilter,
  type SortField,
  type SortKey,
  sortInSteps,
  sourcesOf,
  textSourceName,
  toPredicate,
} from "./order.ts";

interface Selection {
  readonly ids: readonly number[];
  /** The number of the collection version it was made from. */
  readonly version: number;
}

/** Limits on a collection's cached selections: how many, and their total bytes. */
const maxSelections = 64;
const maxBytes = 16 * 1024 * 1024;
/** With more changed records than this, a selection is made afresh instead of patched. */
const maxRecent = 256;

/** IDs collected between two yields. */
const idsPerStep = 4096;

export class Selections {
  /** By name, least recently used first. */
  readonly #cached = new Map<string, Selection>();
  readonly #limiter: WorkLimiter;
  #bytes = 0;
  /** For each of the latest versions, the IDs of the records that changed between it and the next. */
  #recent: { readonly version: number; readonly ids: readonly number[] }[] = [];

  constructor(limiter: WorkLimiter) {
    this.#limiter = limiter;
  }

  /**
   * Returns the IDs of the records of `version` that pass every filter, in the order of `sort`; ties are in ID order.
   * @param isWanted whether the client is still waiting
   * @throws AbandonedWorkError if no client is waiting for the selection anymore
   */
  select(
    version: CollectionVersion,
    filters: readonly RecordFilter[],
    sort: readonly SortField[],
    isWanted: () => boolean,
  ): MaybePromise<readonly number[]> {
    const name = JSON.stringify([filters.map(nameOfFilter), sort.map(nameOfSortField)]);
    const before = this.#cached.get(name);
    if (before?.version === version.number) return this.#cache(name, before);
    const make = () => this.#make(version, filters, sort, this.#cached.get(name));
    return whenResolved(this.#limiter.run(`selection ${version.number} ${name}`, make, isWanted), (ids) =>
      this.#cache(name, { ids, version: version.number }),
    );
  }

  /** Remembers which records changed between `version` and the next one. */
  markChanged(version: number, ids: ReadonlySet<number>): void {
    if (ids.size > maxRecent) this.#recent = [];
    else this.#recent.push({ version, ids: [...ids] });
    let count = this.#recent.reduce((sum, change) => sum + change.ids.length, 0);
    while (count > maxRecent) count -= this.#recent.shift()?.ids.length ?? 0;
  }

  estimateBytes(): number {
    return this.#bytes;
  }

  *#make(
    version: CollectionVersion,
    filters: readonly RecordFilter[],
    sort: readonly SortField[],
    before: Selection | undefined,
  ): Steps<readonly number[]> {
    const changed = before && this.#changedBetween(before.version, version.number);
    if (before && changed) return yield* patchSelection(before.ids, changed, version, filters, sort);
    if (filters.length === 0) return yield* sort.length === 0 ? idsOf(version.blocks) : inOrder(version.blocks, sort);
    const ids = yield* filterIds(version.blocks, filters);
    if (sort.length === 0) return ids;
    // Sort all records and cache that, because it works with every filter.
    const ordered = yield* this.#ordered(version, sort);
    const passing = yield* setOf(ids);
    return yield* filterInSteps(ordered, (id) => passing.has(id));
  }

  /** Returns the IDs of all records in order. */
  *#ordered(version: CollectionVersion, sort: readonly SortField[]): Steps<readonly number[]> {
    const name = JSON.stringify([[], sort.map(nameOfSortField)]);
    const kept = this.#cached.get(name);
    const ids = kept?.version === version.number ? kept.ids : yield* this.#make(version, [], sort, kept);
    return this.#cache(name, { ids, version: version.number });
  }

  /** Returns the IDs of the records that differ between two versions; undefined if we no longer know. */
  #changedBetween(from: number, to: number): ReadonlySet<number> | undefined {
    const changes = this.#recent.filter(({ version }) => version >= from && version < to);
    return from < to && changes.length === to - from ? new Set(changes.flatMap(({ ids }) => ids)) : undefined;
  }

  #cache(name: string, selection: Selection): readonly number[] {
    this.#evict(name);
    this.#cached.set(name, selection);
    this.#bytes += estimateSelectionBytes(name, selection);
    for (const oldest of this.#cached.keys()) {
      if (oldest === name || (this.#cached.size <= maxSelections && this.#bytes <= maxBytes)) break;
      this.#evict(oldest);
    }
    return selection.ids;
  }

  #evict(name: string): void {
    const selection = this.#cached.get(name);
    if (!selection) return;
    this.#cached.delete(name);
    this.#bytes -= estimateSelectionBytes(name, selection);
  }
}

/** Returns the IDs of all records in order. */
function* inOrder(blocks: readonly Block[], sort: readonly SortField[]): Steps<number[]> {
  const sources = sourcesOf(sort);
  const keys: SortKey[] = [];
  for (const block of blocks) {
    yield;
    const columns = block.columns(sources);
    block.ids.forEach((id, index) => void keys.push({ id, texts: columns.map((texts) => texts[index] as string) }));
  }
  const all = yield* sortInSteps(keys, (a, b) => compareKeys(a, b, sort));
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

function* idsOf(blocks: readonly Block[]): Steps<number[]> {
  const ids: number[] = [];
  for (const block of blocks) {
    for (const id of block.ids) ids.push(id);
    yield;
  }
  return ids;
}

function nameOfFilter({ textField, operator, values }: RecordFilter): readonly string[] {
  return [textSourceName(textField), operator, ...values];
}

function estimateSelectionBytes(name: string, { ids }: Selection): number {
  return 200 + 2 * name.length + 8 * ids.length;
}

/** Changed records placed between two yields. */
const searchesPerStep = 16;
/** IDs merged between two yields. */
const mergeSize = 4096;

/** Removes the `changed` records from the selection `before`, then inserts those that pass the filters in `version` where they now belong. */
function* patchSelection(
  before: readonly number[],
  changed: ReadonlySet<number>,
  version: CollectionVersion,
  filters: readonly RecordFilter[],
  sort: readonly SortField[],
): Steps<readonly number[]> {
  const sources = sourcesOf(sort);
  const keyOf = (id: number): SortKey => {
    const { block, index } = version.find(id) as BlockRecord;
    return { id, texts: block.texts(index, sources) };
  };
  const passes = toPredicate(filters);
  const unchanged = yield* filterInSteps(before, (id) => !changed.has(id));
  const insertions: Insertion[] = [];
  let steps = 0;
  for (const id of changed) {
    const record = version.find(id);
    if (record && passes(record)) {
      const key = keyOf(id);
      insertions.push({ key, index: indexForKey(key, unchanged, keyOf, sort) });
    }
    if (++steps % searchesPerStep === 0) yield;
  }
  insertions.sort((a, b) => a.index - b.index || compareKeys(a.key, b.key, sort));
  return yield* merged(unchanged, insertions);
}

/** An ID to insert into a list, before the ID at this index. */
interface Insertion {
  readonly key: SortKey;
  readonly index: number;
}

/** @param insertions in ascending order of index */
function* merged(ids: readonly number[], insertions: readonly Insertion[]): Steps<number[]> {
  const result: number[] = [];
  let next = 0;
  for (let index = 0; index <= ids.length; index++) {
    for (; insertions[next]?.index === index; next++) result.push((insertions[next]?.key as SortKey).id);
    if (index < ids.length) result.push(ids[index] as number);
    if (index % mergeSize === mergeSize - 1) yield;
  }
  return result;
}
