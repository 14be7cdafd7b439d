// The records of a collection in ID order, in blocks. Small neighbours are joined, so there are never many small blocks.

import type { Steps } from "../../lib/slices.ts";
import type { Resource } from "../../model/resource.ts";
import { Block, type BlockRecord } from "./block.ts";
import type { MemoryRecord } from "./memory-record.ts";

/** Two neighbouring blocks have more than half of this between them. */
export const maxBlockRecords = 128;

/** Changed records by ID; undefined if deleted. */
export type Changed = ReadonlyMap<number, MemoryRecord | undefined>;

export function findRecord(blocks: readonly Block[], id: number): BlockRecord | undefined {
  return blocks[indexOfBlock(blocks, id)]?.find(id);
}

/** Yields the records with an ID above `after`, in ID order. */
export function* recordsAfter(blocks: readonly Block[], after: number): Generator<BlockRecord> {
  for (let index = indexOfBlock(blocks, after); index < blocks.length; index++)
    for (const record of (blocks[index] as Block).records()) if (record.id > after) yield record;
}

/** Applies changes to `blocks`. Only the blocks they touch are replaced. */
export function* withChanges(resource: Resource, blocks: readonly Block[], changed: Changed): Steps<readonly Block[]> {
  const ids = [...changed.keys()].sort((a, b) => a - b);
  const result: Block[] = [];
  let next = 0;
  for (let blockIndex = 0; next < ids.length; blockIndex++) {
    // Keep the blocks before the next change.
    const touched = indexOfBlock(blocks, ids[next] as number);
    while (blockIndex < touched) appendBlock(resource, result, blocks[blockIndex++] as Block);
    const end = blocks[blockIndex + 1]?.firstId ?? Number.POSITIVE_INFINITY;
    const from = next;
    while (next < ids.length && (ids[next] as number) < end) next++;
    const records = merge(blocks[blockIndex]?.records() ?? [], ids.slice(from, next), changed);
    yield* appendRecords(resource, result, records, end === Number.POSITIVE_INFINITY);
    if (next === ids.length) for (const block of blocks.slice(blockIndex + 1)) appendBlock(resource, result, block);
  }
  return ids.length === 0 ? blocks : result;
}

/**
 * Appends records in blocks. New IDs come at the end of the list, so there, blocks are filled. Elsewhere, records are spread evenly, which leaves
 * space in each block.
 */
function* appendRecords(
  resource: Resource,
  to: Block[],
  records: readonly MemoryRecord[],
  isEnd: boolean,
): Steps<void> {
  const count = Math.ceil(records.length / maxBlockRecords);
  const size = isEnd ? maxBlockRecords : Math.ceil(records.length / count);
  for (let from = 0; from < records.length; from += size) {
    appendBlock(resource, to, new Block(resource, records.slice(from, from + size)));
    yield;
  }
}

/** Joins it with the previous block if both are small. */
function appendBlock(resource: Resource, to: Block[], block: Block): void {
  const last = to.at(-1);
  if (last && last.size + block.size <= maxBlockRecords / 2) {
    to[to.length - 1] = new Block(resource, [...last.records(), ...block.records()]);
  } else to.push(block);
}

/** Finds the block that has `id`, or would have it. */
function indexOfBlock(blocks: readonly Block[], id: number): number {
  let low = 0;
  let high = blocks.length;
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if ((blocks[middle] as Block).firstId <= id) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns `before` with the changes to the records `ids`, in ID order. */
function merge(before: readonly BlockRecord[], ids: readonly number[], changed: Changed): MemoryRecord[] {
  const merged: MemoryRecord[] = [];
  let next = 0;
  const takeUpTo = (id: number) => {
    for (; next < ids.length && (ids[next] as number) <= id; next++) {
      const record = changed.get(ids[next] as number);
      if (record) merged.push(record);
    }
  };
  for (const record of before) {
    takeUpTo(record.id);
    if (!changed.has(record.id)) merged.push(record);
  }
  takeUpTo(Number.POSITIVE_INFINITY);
  return merged;
}
