// The values of one field in all records of a site, as of one revision: an import finds the matches of its rows in them.

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

/** The values of one field in the records of a site. */
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

  /** Reads the values of all records. @throws ProblemError `unavailable` */
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

  /** The head as of which the values are known. */
  get head(): Head {
    return this.#head;
  }

  /** The number of records when all were read last. */
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

  /**
   * Moves past the journal entries of one commit of this import. Their values must be set already. If entries of others come before them, catches up.
   */
  async advancePast(range: RevisionRange | undefined): Promise<void> {
    if (range?.first === this.#head.revision + 1) this.#head = { ...this.#head, revision: range.last };
    else if (range) await this.catchUp();
  }

  /** Applies the journal entries after the head. If some of these were pruned, reads all records again. */
  async catchUp(): Promise<void> {
    const yieldIfDue = createYielder();
    for (;;) {
      await yieldIfDue();
      const { revision } = this.#head;
      const { head, floor, entries } = await this.#engine.readJournalPage(this.#site, revision, pageSize);
      // Revisions of another epoch cannot be compared. The engine rejects all rows that were matched in this epoch.
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
 * Reads the records of a resource that are not deleted, in the order of their IDs.
 * @param start called before the first record. Returns a function that is called for each record. Both can happen again, see `Engine.readSite`.
 * @returns the head of the site as of this read
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
