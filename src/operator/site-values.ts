// The values that the records of a site have in one field, with the revision as of which they are known.

import { createPace } from "../lib/pace.ts";
import type { JournalEntry } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { type StorefrontRecord, valueAt } from "../model/record.ts";
import type { Leaf, Resource } from "../model/resource.ts";
import { ValueIndex } from "../store/value-index.ts";
import type { RevisionRange } from "./revisions.ts";

/** Entries that are read at once. */
const pageSize = 500;

export class SiteValues {
  readonly #engine: Engine;
  readonly #site: number;
  readonly #resource: Resource;
  readonly #leaf: Leaf;
  readonly #values = new ValueIndex();
  #head: Head = { revision: 0, epoch: "" };

  private constructor(engine: Engine, site: number, resource: Resource, leaf: Leaf) {
    this.#engine = engine;
    this.#site = site;
    this.#resource = resource;
    this.#leaf = leaf;
  }

  /** @throws Refusal `unavailable` */
  static async read(engine: Engine, site: number, resource: Resource, leaf: Leaf): Promise<SiteValues> {
    const values = new SiteValues(engine, site, resource, leaf);
    try {
      await values.#readAll();
    } catch (error) {
      values.close();
      throw error;
    }
    return values;
  }

  /** As of which they are known. */
  get head(): Head {
    return this.#head;
  }

  /** The IDs of the records with a value, in order, at most `limit`. */
  find(value: string, limit: number): number[] {
    return this.#values.find(value, limit);
  }

  count(value: string): number {
    return this.#values.count(value);
  }

  set(id: number, value: string): void {
    this.#values.set(id, value);
  }

  /** Takes into account the entries that one commit has written. Their values must be set. */
  async passOver(range: RevisionRange | undefined): Promise<void> {
    if (range?.first === this.#head.revision + 1) this.#head = { ...this.#head, revision: range.last };
    else if (range) await this.catchUp();
  }

  /** Applies the journal entries since, or reads all records again if some of these entries were pruned. */
  async catchUp(): Promise<void> {
    const pace = createPace();
    for (;;) {
      await pace();
      const { revision } = this.#head;
      const { head, floor, entries } = await this.#engine.journal(this.#site, revision, pageSize);
      // Revisions of another history mean nothing. The store refuses all that was matched in this one.
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
      return (id, body) => this.#values.set(id, this.#valueIn(body));
    });
  }

  #valueIn(body: string): string {
    return valueAt(JSON.parse(body) as StorefrontRecord, this.#leaf);
  }
}

/**
 * Reads the records of a resource that are not deleted, in the order of their IDs.
 * @param start called before the first record; returns what is called for each of them. Both may happen once more, see `Engine.readSite`
 * @returns the head of the site at that moment
 */
export async function readBodies(
  engine: Pick<Engine, "readSite">,
  site: number,
  resource: Resource,
  start: () => (id: number, body: string) => void,
): Promise<Head> {
  return engine.readSite(site, async ({ head, portions }) => {
    const onRecord = start();
    const pace = createPace();
    for await (const rows of portions) {
      await pace();
      for (const { resource: name, id, body } of rows) if (name === resource.name && body !== null) onRecord(id, body);
    }
    return head;
  });
}
