// Knows every record's value of one field as of a revision, so that an import can match its rows.

import { createYielder } from "../../lib/yielding.ts";
import { type FoundRecords, type JournalEntry, maxFoundIds } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { type StorefrontRecord, valueAt } from "../../model/record.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import type { RevisionRange } from "../journal/journal-entries.ts";

/** Journal entries per read. */
const pageSize = 500;

export class SiteValues {
  readonly #engine: Engine;
  readonly #site: number;
  readonly #resource: Resource;
  readonly #textField: TextFieldPath;
  readonly #values = new ValueIndex();
  #head: Head = { revision: 0, epoch: "" };
  #total = 0;

  private constructor(engine: Engine, site: number, resource: Resource, textField: TextFieldPath) {
    this.#engine = engine;
    this.#site = site;
    this.#resource = resource;
    this.#textField = textField;
  }

  /** @throws ProblemError `unavailable` */
  static async read(engine: Engine, site: number, resource: Resource, textField: TextFieldPath): Promise<SiteValues> {
    const values = new SiteValues(engine, site, resource, textField);
    try {
      await values.#readAll();
    } catch (error) {
      values.close();
      throw error;
    }
    return values;
  }

  /** What the values are current as of. */
  get head(): Head {
    return this.#head;
  }

  /** How many records there were when they were last all read. */
  get total(): number {
    return this.#total;
  }

  find(value: string): FoundRecords {
    const ids = this.#values.find(value, maxFoundIds);
    return { ids, count: ids.length < maxFoundIds ? ids.length : this.#values.count(value) };
  }

  set(id: number, value: string): void {
    this.#values.set(id, value);
  }

  /** Moves past what a commit of this import wrote, which must already be `set`. Catches up first if others have written in between. */
  async advancePast(range: RevisionRange | undefined): Promise<void> {
    if (range?.first === this.#head.revision + 1) this.#head = { ...this.#head, revision: range.last };
    else if (range) await this.catchUp();
  }

  /** Applies the journal entries after the head, or reads all records again if some have been pruned. */
  async catchUp(): Promise<void> {
    const yieldIfDue = createYielder();
    for (;;) {
      await yieldIfDue();
      const { revision } = this.#head;
      const { head, floor, entries } = await this.#engine.readJournalPage(this.#site, revision, pageSize);
      // Another epoch's revisions mean nothing here. The engine will reject all rows matched in this one.
      if (this.#head.epoch !== "" && head.epoch !== this.#head.epoch) return;
      if (floor > revision) return this.#readAll();
      for (const entry of entries) this.#apply(entry);
      this.#head = { epoch: head.epoch, revision: entries.at(-1)?.revision ?? revision };
      if (entries.length < pageSize) return;
    }
  }

  close(): void {
    this.#values.close();
  }

  #apply({ resource, id, operation, body }: JournalEntry): void {
    if (resource !== this.#resource.name) return;
    if (operation === "delete") this.#values.delete(id);
    else this.#values.set(id, this.#valueIn(body));
  }

  async #readAll(): Promise<void> {
    this.#head = await readBodies(this.#engine, this.#site, this.#resource, () => {
      this.#values.clear();
      this.#total = 0;
      return (id, body) => {
        this.#values.set(id, this.#valueIn(body));
        this.#total++;
      };
    });
  }

  #valueIn(body: string): string {
    return valueAt(JSON.parse(body) as StorefrontRecord, this.#textField);
  }
}

/**
 * Reads a resource's records by ID, without deleted ones.
 * @param start called before the first record; returns a function that's called for each. Both may happen again, see `Engine.readSite`
 * @returns the head that was read
 */
export async function readBodies(
  engine: Pick<Engine, "readSite">,
  site: number,
  resource: Resource,
  start: () => (id: number, body: string, revision: number) => void,
): Promise<Head> {
  return engine.readSite(site, async ({ head, rowChunks }) => {
    const onRecord = start();
    const yieldIfDue = createYielder();
    for await (const rows of rowChunks) {
      await yieldIfDue();
      for (const { resource: name, id, body, revision } of rows)
        if (name === resource.name && body !== null) onRecord(id, body, revision);
    }
    return head;
  });
}
