import type { Encoding } from "../model/encoding.ts";
import { toDeclared } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { Row } from "./block.ts";
import { Blocks, type Changed, mostRecords } from "./blocks.ts";
import type { Kept } from "./kept.ts";
import { List } from "./list.ts";
import { Pages } from "./pages.ts";
import { Part } from "./part.ts";
import { Selections } from "./selection.ts";
import { Stretch } from "./stretch.ts";
import { Tally } from "./tally.ts";

/** How many changes are remembered one by one, at least. */
const mostLately = 256;

/**
 * The records of one resource of one site. A change waits until somebody asks for more than single records; then the block
 * that it belongs to is made anew, and a list shares the bytes of all others with the list before.
 */
export class Collection {
  readonly resource: Resource;
  /** The site's revision at the last change to any of these records. */
  revision = 0;
  size = 0;
  /** Counts every change. */
  changes = 0;
  readonly selections: Selections;
  readonly pages: Pages;
  readonly #tally: Tally;
  readonly #blocks: Blocks;
  /** The records that are newer than the blocks; undefined for one that was deleted. */
  readonly #waiting = new Map<number, Kept | undefined>();
  readonly #lists = new Map<string, List>();
  /** What stands before and after the items of a list, by encoding. */
  readonly #ends = new Map<string, readonly [Part, Part]>();
  /** The IDs of the last changes. */
  #lately: number[] = [];

  /** @param tally counts what is kept, about */
  constructor(resource: Resource, tally = new Tally()) {
    this.resource = resource;
    this.#tally = tally;
    tally.add(1500);
    this.#blocks = new Blocks(resource, tally);
    this.selections = new Selections(this, tally);
    this.pages = new Pages(tally);
  }

  get(id: number): Kept | undefined {
    return this.#waiting.get(id) ?? (this.#waiting.has(id) ? undefined : this.#blocks.find(id));
  }

  /** Puts the record `id` in, whichever version of the program stored it, or takes it out where `stored` is null. */
  set(id: number, revision: number, stored: string | null): void {
    this.put(id, revision, stored);
    for (const list of this.#lists.values()) list.tally.drop();
    this.#lists.clear();
    this.pages.clear();
    if (this.#waiting.size > Math.max(1024, this.size / 4)) this.#settleOldest();
  }

  /** The same for many records, before anybody has asked for any: `settle` follows. */
  put(id: number, revision: number, stored: string | null): void {
    const json = stored === null ? null : toDeclared(this.resource, stored);
    const isKnown = this.get(id) !== undefined;
    this.size += (json === null ? 0 : 1) - (isKnown ? 1 : 0);
    this.#tally.add(weightOf(json) - (this.#waiting.has(id) ? weightOf(this.#waiting.get(id)?.json) : 0));
    this.#waiting.set(id, json === null ? undefined : { id, revision, json });
    this.changes++;
    this.#lately.push(id);
    if (this.#lately.length > 2 * mostLately) this.#lately = this.#lately.slice(-mostLately);
    this.revision = Math.max(this.revision, revision);
  }

  /** Lets no change wait any longer: everything is kept as compactly as it can be. */
  settle(): void {
    if (this.#waiting.size > 0) this.#settle(this.#waiting);
  }

  #settle(changed: Changed): void {
    this.#blocks.change(changed);
    for (const [id, kept] of changed) {
      this.#tally.add(-weightOf(kept?.json));
      this.#waiting.delete(id);
    }
  }

  /** Lets the oldest change wait no longer, nor those of the same block: one block at a time, so that nobody waits for long. */
  #settleOldest(): void {
    const oldest = this.#waiting.keys().next().value as number;
    const [from, to] = this.#blocks.rangeOf(oldest);
    const some = new Map<number, Kept | undefined>();
    for (let id = Math.max(from, oldest - mostRecords); id <= Math.min(to, oldest + mostRecords); id++) {
      if (this.#waiting.has(id)) some.set(id, this.#waiting.get(id));
    }
    this.#settle(some);
  }

  /** The IDs of the records that changed since there were `changes`; undefined when they are too many to be known. */
  changedSince(changes: number): ReadonlySet<number> | undefined {
    const missed = this.changes - changes;
    return missed > this.#lately.length ? undefined : new Set(this.#lately.slice(this.#lately.length - missed));
  }

  /** Every record in ID order, in blocks. */
  get blocks(): Blocks {
    this.settle();
    return this.#blocks;
  }

  /** Every record, in ID order. */
  *[Symbol.iterator](): Generator<Kept> {
    for (const block of this.blocks) yield* block.rows;
  }

  /** A document of one record in `encoding`. */
  document(kept: Kept, encoding: Encoding): string {
    return (
      encoding.documentStart +
      (kept instanceof Row ? kept.block.item(kept.index, encoding) : this.#made(kept, encoding))
    );
  }

  /** A list of the records `ids` in `encoding`. */
  page(ids: readonly number[], encoding: Encoding): Uint8Array {
    const items = ids.map((id) => {
      const kept = this.get(id) as Kept;
      return kept instanceof Row ? kept.block.itemOrPlace(kept.index, encoding) : this.#made(kept, encoding);
    });
    const { bytes } = new Stretch(encoding, items, new Tally()).part(true);
    return Buffer.concat([Buffer.from(encoding.listStart), bytes, Buffer.from(encoding.listEnd)]);
  }

  /** The whole list in `encoding`. */
  list(encoding: Encoding): List {
    const kept = this.#lists.get(encoding.name);
    if (kept) return kept;
    const [start, end] = this.#endsIn(encoding);
    const parts = [start];
    for (const block of this.blocks) parts.push(block.stretch(encoding).part(parts.length === 1));
    parts.push(end);
    const list = new List(parts, this.#tally);
    this.#lists.set(encoding.name, list);
    return list;
  }

  #made(kept: Kept, encoding: Encoding): string {
    return encoding.item(this.resource, kept.json);
  }

  #endsIn(encoding: Encoding): readonly [Part, Part] {
    const kept = this.#ends.get(encoding.name);
    if (kept) return kept;
    const { listStart, listEnd } = encoding;
    const ends = [listStart, listEnd].map((text) => new Part(Buffer.from(text), this.#tally)) as [Part, Part];
    this.#ends.set(encoding.name, ends);
    return ends;
  }
}

/** About how many bytes a waiting record takes. */
function weightOf(json: string | null | undefined): number {
  return 150 + (json?.length ?? 0);
}
