// Full synchronization (`--remove-missing`): once a file's rows are stored, deletes the records that aren't in it.
//
// Say a site has the brands 1 "Acme", 2 "Best" and 3 "Cube", and brands.csv has "Acme" and "Dune". With
// `import brands brands.csv --match Name --remove-missing`, "Dune" becomes brand 4. Brands 2 and 3 aren't in the file, so brand 2 is deleted. But if a
// client changes brand 3 during the import, it's kept and counted as changed.
//
// Invariants:
// - Records created or changed after the head `asOf` are kept. That's the head of the dry run that the operator has confirmed, or by default the one at
//   the start of the import. The transaction checks each record's version again (`ifVersion`).
// - A record that a row identifies is kept, even if the row is rejected or excluded.
// - Nothing is deleted if there's an obstacle (`MissingSummary`): no row identifies a record, some row doesn't say which record it means, or more records
//   are missing than may be removed.

import { chunksOf } from "../../lib/yielding.ts";
import { type Intent, type Outcome, operatorActor, versionOf } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { validateText } from "../../model/field.ts";
import type { Head } from "../../model/head.ts";
import { isId, type StorefrontRecord, valueAt } from "../../model/record.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import { epochChangedError } from "../journal/journal-entries.ts";
import type { NumberedRow } from "./file-rows.ts";
import { readBodies } from "./site-values.ts";

export interface RemovalOptions {
  /** By default, half of the site's records. */
  readonly maxRemovals?: number | undefined;
  /** Records that changed after this head are kept. By default, the head at the start of the import. */
  readonly asOf?: Head | undefined;
  /** Called with the JSON of each removed record, or in a dry run of each that would be. The import waits for it. */
  readonly onMissing?: ((id: number, body: string) => void | Promise<void>) | undefined;
}

/** The counts are records. */
export interface MissingSummary {
  /** Missing from the file, and unchanged since `asOf`. */
  readonly count: number;
  /** All records at the start of the import. */
  readonly total: number;
  readonly removed: number;
  /** Missing from the file, but kept because someone else has created or changed them since `asOf`. */
  readonly changed: number;
  /** Why nothing is removed, if something prevents it. */
  readonly obstacle?: string | undefined;
  readonly asOf: Head;
}

/** The part of a summary that operators see. */
export function toMissingNumbers({ asOf: _, ...numbers }: MissingSummary): Omit<MissingSummary, "asOf"> {
  return numbers;
}

/** Records per read and per transaction. */
const batchSize = 500;

interface MissingFromFileParts {
  readonly engine: Engine;
  readonly site: number;
  readonly resource: Resource;
  /** The field that rows are matched by; undefined for the ID. */
  readonly textField: TextFieldPath | undefined;
  /** At the start of the import. */
  readonly head: Head;
  /** Records at the start of the import. */
  readonly total: number;
  /** The system site's head when rows were matched. */
  readonly systemHead: Head;
  readonly options: RemovalOptions;
  readonly now: () => number;
}

/** Tracks the records that a file's rows identify, then finds and removes the others. */
export class MissingFromFile {
  readonly #parts: MissingFromFileParts;
  readonly #asOf: Head;
  readonly #named: NamedRecords;
  /** The records to remove. */
  #missing: { readonly ids: number[]; readonly revisions: number[] } = { ids: [], revisions: [] };
  #counts = { removed: 0, changed: 0 };
  #obstacle: string | undefined;

  /** @throws ProblemError `unavailable` if there's no space for the temporary file */
  constructor(parts: MissingFromFileParts) {
    this.#parts = parts;
    this.#asOf = parts.options.asOf ?? parts.head;
    this.#named = new NamedRecords(parts.textField);
  }

  get summary(): MissingSummary {
    const count = this.#missing.ids.length;
    return { count, total: this.#parts.total, ...this.#counts, obstacle: this.#obstacle, asOf: this.#asOf };
  }

  /** Whether there's anything to remove. Call `find` first. */
  get mayRemove(): boolean {
    return this.#obstacle === undefined && this.#missing.ids.length > 0;
  }

  /** Call this for each row before it's matched. */
  addRow(row: NumberedRow): void {
    this.#named.addRow(row);
  }

  /** Call this for the record of each stored row. */
  addStored(id: number): void {
    this.#named.addId(id);
  }

  /** Call this after the last row. @throws ProblemError `conflict` if the site's epoch isn't that of `asOf` */
  async find(): Promise<void> {
    const { engine, site, resource, total, options } = this.#parts;
    const head = await readBodies(engine, site, resource, () => {
      this.#missing = { ids: [], revisions: [] };
      this.#counts = { removed: 0, changed: 0 };
      return (id, body, revision) => this.#addRecord(id, body, revision);
    });
    if (head.epoch !== this.#asOf.epoch && this.#asOf.revision > 0) throw epochChangedError("nothing was removed");
    const max = options.maxRemovals ?? Math.floor(total / 2);
    const count = this.#missing.ids.length;
    this.#obstacle = this.#named.obstacle ?? (count > max ? this.#tooManyObstacle(count, total) : undefined);
  }

  /** For a dry run. */
  async reportAll(): Promise<void> {
    const { engine, site, resource, options } = this.#parts;
    const { ids } = this.#missing;
    if (!options.onMissing) return;
    for (const chunk of chunksOf(ids, batchSize)) {
      const keys = chunk.map((id) => ({ resource: resource.name, id }));
      const { rows } = await engine.readRows(site, keys);
      const bodies = new Map(rows.map(({ id, body }) => [id, body]));
      for (const id of chunk) {
        const body = bodies.get(id);
        if (typeof body === "string") await options.onMissing(id, body);
      }
    }
  }

  /** The removals, in batches. */
  *batches(): Generator<Intent[]> {
    const { site, resource, systemHead, now } = this.#parts;
    const { ids, revisions } = this.#missing;
    const ifSystemEpoch = systemHead.epoch;
    const common = {
      site,
      resource: resource.name,
      ifSystemEpoch,
      operation: "delete",
      valuesJson: "{}",
      actor: operatorActor,
    } as const;
    for (let from = 0; from < ids.length; from += batchSize) {
      yield ids.slice(from, from + batchSize).map((id, index) => {
        const ifVersion = [versionOf(this.#asOf.epoch, revisions[from + index] as number)];
        return { ...common, id, ifVersion, isOptional: true, at: now() };
      });
    }
  }

  /** Call this for each removal. @throws ProblemError `conflict` if the site has another epoch */
  async addOutcome(outcome: Outcome): Promise<void> {
    if (outcome.kind !== "rejected") {
      this.#counts.removed++;
      await this.#parts.options.onMissing?.(outcome.id, outcome.body);
    } else if (outcome.rejectionReason === "other-epoch") throw epochChangedError("the other records were kept");
    else this.#counts.changed++;
  }

  /** For a transaction that has stored nothing. */
  resetOutcomes(): void {
    this.#counts = { ...this.#counts, removed: 0 };
  }

  close(): void {
    this.#named.close();
  }

  #addRecord(id: number, body: string, revision: number): void {
    if (this.#named.has(id, body)) return;
    if (revision > this.#asOf.revision) this.#counts.changed++;
    else {
      this.#missing.ids.push(id);
      this.#missing.revisions.push(revision);
    }
  }

  #tooManyObstacle(count: number, total: number): string {
    const { plural } = this.#parts.resource;
    return `${count} of ${total} ${plural} ${count === 1 ? "isn't" : "aren't"} in the file; if you want to remove that many, add --allow-removals ${count}`;
  }
}

/** What a file's rows identify: IDs in memory, or match values in a temporary file. */
class NamedRecords {
  readonly #textField: TextFieldPath | undefined;
  readonly #ids = new Set<number>();
  readonly #values: ValueIndex | undefined;
  #rows = 0;
  #named = 0;
  /** The first row that doesn't say which record it means. */
  #unknown: number | undefined;

  constructor(textField: TextFieldPath | undefined) {
    this.#textField = textField;
    this.#values = textField && new ValueIndex();
  }

  /** Why we can't tell which records are missing from the file. */
  get obstacle(): string | undefined {
    if (this.#unknown !== undefined)
      return `row ${this.#unknown} doesn't say which record it means; fix it first, so that its record isn't removed`;
    if (this.#rows === 0) return "the file has no rows";
    return this.#named === 0 ? "no row has an ID; match the rows by another field, with --match" : undefined;
  }

  addRow({ number, decoded: { input, fieldErrors } }: NumberedRow): void {
    this.#rows++;
    const isUnreadable = fieldErrors.some(({ field }) => field === "") || typeof input !== "object" || input === null;
    if (isUnreadable) this.#unknown ??= number;
    else if (this.#textField) {
      const { path, field } = this.#textField;
      const value = valueAt(input as StorefrontRecord, this.#textField);
      // Whoever fixes the row may mean any record.
      const isInvalid = fieldErrors.some((error) => error.field === path) || validateText(field, value);
      this.#addValue(number, isInvalid ? "" : value);
    } else if ("ID" in input && input.ID !== undefined) {
      this.#named++;
      if (isId(input.ID)) this.addId(input.ID);
      else this.#unknown ??= number;
    }
  }

  addId(id: number): void {
    if (!this.#textField) this.#ids.add(id);
  }

  has(id: number, body: string): boolean {
    if (!this.#textField || !this.#values) return this.#ids.has(id);
    const value = valueAt(JSON.parse(body) as StorefrontRecord, this.#textField);
    return this.#values.find(value, 1).length > 0;
  }

  close(): void {
    this.#values?.close();
  }

  #addValue(number: number, value: string): void {
    this.#named++;
    if (value === "") this.#unknown ??= number;
    else this.#values?.set(number, value);
  }
}
