// Matches the rows of an import with records: by ID, or by the value of a field.

import { findNearestPath, formatHint } from "../../lib/text.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, invalidRecordError, ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { isId, type StorefrontRecord, valueAt } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import { type FoundRecords, maxFoundIds } from "../../store/memory/order.ts";
import { type Match, matchByValue, type RecordFinder } from "../../store/writes/record-match.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import type { RevisionRange } from "../journal/journal-entries.ts";
import { idGivenError } from "./row-errors.ts";

/** A row as an object with fields that are not validated yet. */
export type RowInput = Readonly<Record<string, unknown>>;

/** Finds the record of each row. It knows the records as of one revision, and the rows before. */
export interface Matcher {
  /** Returns the value by which the row is matched; undefined if rows are matched by ID. */
  matchValueOf(input: RowInput): string | undefined;
  /** @throws ProblemError `invalid-record` if the row cannot be matched, or several records match */
  match(input: RowInput): Match;
  /** Tracks a valid row, so that later rows can match its record. @param id the ID of the record, if it is known */
  trackRow(input: RowInput, id: number | undefined): void;
  /** Finds the records of rows that are rematched. Undefined if rows are matched by ID. */
  readonly finder: RecordFinder | undefined;
  /** Moves past the journal entries of one commit of this import. All of its rows must have been tracked. */
  advancePast(range: RevisionRange | undefined): Promise<void>;
  /** Applies all changes of others until now. */
  catchUp(): Promise<void>;
  close(): void;
}

/** The largest ID that a row may create, because the IDs of later records follow the largest ID. */
const maxNewId = 999_999_999_999_999;

/** Returns the field named `field`; undefined for the ID. @throws ProblemError `bad-request` for an unknown field */
export function getMatchField(resource: Resource, field = "ID"): TextFieldPath | undefined {
  const textField = findTextField(resource, field);
  if (textField || field === "ID") return textField;
  const paths = ["ID", ...resource.textFields.map(({ path }) => path)];
  const hint = formatHint(findNearestPath(field, paths), `the fields of ${resource.plural} are ${paths.join(", ")}`);
  throw new ProblemError("bad-request", `invalid --match \`${field}\`: ${hint}`);
}

/** Creates a matcher from the records that a site has at `head`. @throws ProblemError `bad-request` for an unknown field */
export async function readMatcher(
  engine: Engine,
  site: number,
  resource: Resource,
  field?: string,
): Promise<{ readonly head: Head; readonly matcher: Matcher }> {
  const textField = getMatchField(resource, field);
  if (textField) {
    const values = await SiteValues.read(engine, site, resource, textField);
    return { head: values.head, matcher: createFieldMatcher(resource, textField, values) };
  }
  const ids = new Set<number>();
  const head = await readBodies(engine, site, resource, () => {
    ids.clear();
    return (id) => void ids.add(id);
  });
  return { head, matcher: createIdMatcher(ids) };
}

function createIdMatcher(present: Set<number>): Matcher {
  // The engine assigns consecutive IDs, so ranges of IDs take the same memory for any number of rows.
  const assigned: { from: number; to: number }[] = [];
  return {
    matchValueOf: () => undefined,
    match({ ID }) {
      if (ID === undefined) return { kind: "create", id: undefined };
      if (!isId(ID)) throw invalidIdError(`must be a whole number from 1, not ${JSON.stringify(ID)?.slice(0, 40)}`);
      // An earlier row without an ID was given this ID; this row means another record. Updating the record would lose the earlier row.
      if (assigned.some(({ from, to }) => from <= ID && ID <= to)) throw toProblemError(idGivenError(ID));
      if (present.has(ID)) return { kind: "update", id: ID };
      if (ID > maxNewId) throw invalidIdError(`must be at most ${maxNewId}`);
      return { kind: "create", id: ID };
    },
    trackRow({ ID }, id) {
      if (id === undefined) return;
      const last = assigned.at(-1);
      if (ID !== undefined) present.add(id);
      else if (last?.to === id - 1) last.to = id;
      else assigned.push({ from: id, to: id });
    },
    // A row with an ID means the same record, whatever others change. If they have deleted or created it, the engine rejects the row.
    finder: undefined,
    async advancePast() {},
    async catchUp() {},
    close() {},
  };
}

function createFieldMatcher(resource: Resource, textField: TextFieldPath, values: SiteValues): Matcher {
  const matchValueOf = (input: RowInput) => valueAt(input as StorefrontRecord, textField);
  const { keys } = textField;
  return {
    matchValueOf,
    match: (input) => matchByValue(values, resource.name, { keys, value: matchValueOf(input) }),
    finder: values,
    trackRow(input, id) {
      if (id !== undefined) values.set(id, matchValueOf(input));
    },
    advancePast: (range) => values.advancePast(range),
    catchUp: () => values.catchUp(),
    close: () => values.close(),
  };
}

function invalidIdError(detail: string): ProblemError {
  return toProblemError({ field: "ID", detail });
}

function toProblemError(one: FieldError): ProblemError {
  return invalidRecordError([one]);
}

// The values of one field in the records of a site, as of one revision.

/** Journal entries per read. */
const pageSize = 500;

class SiteValues implements RecordFinder {
  readonly #engine: Engine;
  readonly #site: number;
  readonly #resource: Resource;
  readonly #textField: TextFieldPath;
  readonly #values = new ValueIndex();
  #head: Head = { revision: 0, epoch: "" };

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

  get revision(): number {
    return this.#head.revision;
  }

  /** Finds records of its resource only. */
  find(_resource: string, value: string): FoundRecords {
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
      return (id, body) => this.#values.set(id, this.#valueIn(body));
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
async function readBodies(
  engine: Pick<Engine, "readSite">,
  site: number,
  resource: Resource,
  start: () => (id: number, body: string) => void,
): Promise<Head> {
  return engine.readSite(site, async ({ head, rowChunks }) => {
    const onRecord = start();
    const yieldIfDue = createYielder();
    for await (const rows of rowChunks) {
      await yieldIfDue();
      for (const { resource: name, id, body } of rows) if (name === resource.name && body !== null) onRecord(id, body);
    }
    return head;
  });
}
