// Matches the rows of an import with records.

import { createPace } from "../../lib/event-loop.ts";
import { nearestPath } from "../../lib/text.ts";
import type { FoundBy, JournalEntry } from "../../model/change.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { type Fault, invalidRecord, Refusal } from "../../model/errors.ts";
import { isId, type StorefrontRecord, valueAt } from "../../model/record.ts";
import { findLeaf, type Leaf, type Resource } from "../../model/resource.ts";
import { ValueIndex } from "../../store/writes/found-records.ts";
import type { RevisionRange } from "../history.ts";
import { givenId } from "./import-summary.ts";

/** The ID of the record to update or to create; undefined to create one with the next ID. `ifFound`: see `Intent`. */
export type Match = { readonly ifFound?: FoundBy | undefined } & (
  | { readonly kind: "update"; readonly id: number }
  | { readonly kind: "create"; readonly id: number | undefined }
);

/** A row as an object whose fields are not validated yet. */
export type RowInput = Readonly<Record<string, unknown>>;

export interface Matcher {
  /** The value of the field by which rows are matched; undefined when they are matched by ID. */
  keyOf(input: RowInput): string | undefined;
  /** @throws Refusal `invalid-record` when the row cannot be matched, or several records match */
  find(input: RowInput): Match;
  /** Notes that the row is valid, with the ID of its record if it is known, so that later rows can match it. */
  note(input: RowInput, id: number | undefined): void;
  /** As `find`, for a row that was found before. */
  findAgain(found: FoundBy): Match;
  /** Takes into account what one commit has written, whose rows were noted. */
  passOver(range: RevisionRange | undefined): Promise<void>;
  /** Takes into account what has changed by now. */
  catchUp(): Promise<void>;
  close(): void;
}

/** The largest ID that a row may create: the IDs of later records count from the largest. */
const maxNewId = 999_999_999_999_999;

/** The field named `field`; undefined for the ID. @throws Refusal `bad-request` when there is no such field */
export function findMatchField(resource: Resource, field = "ID"): Leaf | undefined {
  const leaf = findLeaf(resource, field);
  if (leaf || field === "ID") return leaf;
  const paths = ["ID", ...resource.leaves.map(({ path }) => path)];
  const meant = nearestPath(field, paths);
  const hint = meant ? `did you mean \`${meant}\`?` : `the fields of ${resource.plural} are ${paths.join(", ")}`;
  throw new Refusal("bad-request", `invalid --match \`${field}\`: ${hint}`);
}

/**
 * Matches rows with the records that a site has at `head`.
 * @throws Refusal `bad-request` when there is no such field
 */
export async function readMatcher(
  engine: Engine,
  site: number,
  resource: Resource,
  field?: string,
): Promise<{ readonly head: Head; readonly matcher: Matcher }> {
  const leaf = findMatchField(resource, field);
  if (leaf) {
    const values = await SiteValues.read(engine, site, resource, leaf);
    return { head: values.head, matcher: matchByField(leaf, values) };
  }
  const ids = new Set<number>();
  const head = await readBodies(engine, site, resource, () => {
    ids.clear();
    return (id) => void ids.add(id);
  });
  return { head, matcher: matchById(ids) };
}

function matchById(present: Set<number>): Matcher {
  // The store assigns consecutive IDs, so ranges of them take the same memory for any number of rows.
  const assigned: { from: number; to: number }[] = [];
  return {
    keyOf: () => undefined,
    find({ ID }) {
      if (ID === undefined) return { kind: "create", id: undefined };
      if (!isId(ID)) throw badId(`must be a whole number from 1, not ${JSON.stringify(ID)?.slice(0, 40)}`);
      // The record of an earlier row is another one than the row means, and updating it would lose that row.
      if (assigned.some(({ from, to }) => from <= ID && ID <= to)) throw fault(givenId(ID));
      if (present.has(ID)) return { kind: "update", id: ID };
      if (ID > maxNewId) throw badId(`must be at most ${maxNewId}`);
      return { kind: "create", id: ID };
    },
    note({ ID }, id) {
      if (id === undefined) return;
      const last = assigned.at(-1);
      if (ID !== undefined) present.add(id);
      else if (last?.to === id - 1) last.to = id;
      else assigned.push({ from: id, to: id });
    },
    // An ID finds the same record whatever others change, and the store refuses what they have deleted or created.
    findAgain() {
      throw new Error("a row is matched by its ID only once");
    },
    async passOver() {},
    async catchUp() {},
    close() {},
  };
}

function matchByField(leaf: Leaf, values: SiteValues): Matcher {
  const keyOf = (input: RowInput) => valueAt(input as StorefrontRecord, leaf);
  const find = (value: string): Match => {
    if (value === "") throw fault({ field: leaf.path, detail: "is empty, so no record can be matched by it" });
    const found = values.find(value, maxNamed + 1);
    if (found.length > 1) throw fault({ field: leaf.path, detail: severalMatch(values.count(value), found) });
    const ifFound = { keys: leaf.keys, value, revision: values.head.revision };
    const [id] = found;
    return id === undefined ? { kind: "create", id, ifFound } : { kind: "update", id, ifFound };
  };
  return {
    keyOf,
    find: (input) => find(keyOf(input)),
    findAgain: (found) => find(found.value),
    note(input, id) {
      if (id !== undefined) values.set(id, keyOf(input));
    },
    passOver: (range) => values.passOver(range),
    catchUp: () => values.catchUp(),
    close: () => values.close(),
  };
}

/** Records that a message names. */
const maxNamed = 5;

function severalMatch(count: number, ids: readonly number[]): string {
  const some = ids.slice(0, maxNamed).join(", ") + (ids.length > maxNamed ? ", ..." : "");
  return `${count} records have this value: ${some}`;
}

function badId(detail: string): Refusal {
  return fault({ field: "ID", detail });
}

function fault(one: Fault): Refusal {
  return invalidRecord([one]);
}

// The values that the records of a site have in one field, with the revision as of which they are known.

/** Entries that are read at once. */
const pageSize = 500;

class SiteValues {
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
async function readBodies(
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
