import type { Resource } from "../model/resource.ts";
import { Block, type Row } from "./block.ts";
import type { Kept } from "./kept.ts";
import type { Tally } from "./tally.ts";

/** Most records of a block. Two neighbours have more than half of that together. */
export const mostRecords = 128;

/** What became of records: undefined for one that was deleted. */
export type Changed = ReadonlyMap<number, Kept | undefined>;

/** The records of a collection in ID order, in blocks: however far apart the IDs are, there are never many small ones. */
export class Blocks implements Iterable<Block> {
  readonly #resource: Resource;
  readonly #tally: Tally;
  readonly #blocks: Block[] = [];

  constructor(resource: Resource, tally: Tally) {
    this.#resource = resource;
    this.#tally = tally;
  }

  [Symbol.iterator](): Iterator<Block> {
    return this.#blocks[Symbol.iterator]();
  }

  find(id: number): Row | undefined {
    return this.#blocks[this.#placeOf(id)]?.find(id);
  }

  /** Puts other blocks in the place of those that `changed` touches. */
  change(changed: Changed): void {
    const ids = [...changed.keys()].sort((a, b) => a - b);
    // From the last to the first, so that the places of those that are still to come stay the same.
    let to = ids.length;
    while (to > 0) {
      const place = this.#placeOf(ids[to - 1] as number);
      let from = to - 1;
      while (from > 0 && this.#placeOf(ids[from - 1] as number) === place) from--;
      const block = this.#blocks[place];
      const records = merge(block?.rows ?? [], ids.slice(from, to), changed);
      this.#replace(place, block ? [block] : [], records);
      to = from;
    }
    if (ids.length > 0) this.#joinSmall(this.#placeOf(ids[0] as number), this.#placeOf(ids.at(-1) as number));
  }

  /** The IDs from and up to which records belong to the same block as `id`. */
  rangeOf(id: number): readonly [number, number] {
    const place = this.#placeOf(id);
    const next = this.#blocks[place + 1]?.first ?? Number.POSITIVE_INFINITY;
    return [place === 0 ? 0 : (this.#blocks[place] as Block).first, next - 1];
  }

  #replace(place: number, before: readonly Block[], records: readonly Kept[]): void {
    const isLast = place + before.length >= this.#blocks.length;
    const after = cut(records, isLast).map((some) => new Block(this.#resource, some, before, this.#tally));
    this.#blocks.splice(place, before.length, ...after);
    for (const block of before) block.drop();
  }

  /** Joins small neighbours among the blocks of these places and the ones beside them. */
  #joinSmall(from: number, to: number): void {
    for (let place = Math.min(to, this.#blocks.length - 2); place >= Math.max(0, from - 1); place--) {
      const [one, next] = [this.#blocks[place] as Block, this.#blocks[place + 1] as Block];
      if (one.size + next.size <= mostRecords / 2) this.#replace(place, [one, next], [...one.rows, ...next.rows]);
    }
  }

  /** The place of the block that has `id` or would have it, by halving. */
  #placeOf(id: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle] as Block).first <= id) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** `rows` as they are after the changes of the records `ids`, in ID order. */
function merge(rows: readonly Row[], ids: readonly number[], changed: Changed): Kept[] {
  const merged: Kept[] = [];
  let next = 0;
  const takeUpTo = (id: number) => {
    for (; next < ids.length && (ids[next] as number) <= id; next++) {
      const record = changed.get(ids[next] as number);
      if (record) merged.push(record);
    }
  };
  for (const row of rows) {
    takeUpTo(row.id);
    if (!changed.has(row.id)) merged.push(row);
  }
  takeUpTo(Number.POSITIVE_INFINITY);
  return merged;
}

/** `records` for a block each. New IDs come at the end, so there the blocks before are filled, and elsewhere they get room. */
function cut(records: readonly Kept[], isLast: boolean): Kept[][] {
  const count = Math.ceil(records.length / mostRecords);
  const size = isLast ? mostRecords : Math.ceil(records.length / count);
  return Array.from({ length: count }, (_, index) => records.slice(index * size, (index + 1) * size));
}
