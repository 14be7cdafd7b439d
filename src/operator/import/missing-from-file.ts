// Full synchronization (`--remove-missing`): after the rows of a file are stored, deletes the records of the site that are missing from the file.
//
// An example: a site has the brands 1 "Acme", 2 "Best" and 3 "Cube". The file brands.csv has the rows "Acme" and "Dune". An operator runs
// `import brands brands.csv --match Name --remove-missing`. The import stores the rows: "Dune" becomes brand 4. Meanwhile, a client changes brand 3. Then
// the import finds that the file lacks brands 2 and 3. It deletes brand 2. It keeps brand 3, and counts it as changed.
//
// Invariants:
// - If a record was created or changed after the head `asOf`, it is kept. `asOf` is the head of the dry run whose result the operator has confirmed; by
//   default, it is the head at the beginning of the import. The transaction compares the version of each record again (`ifVersion`).
// - If a row names a record, the record is kept, even if the row is rejected or excluded.
// - If no row names a record, nothing is deleted. If a row does not say which record it means, nothing is deleted. If the file lacks more records than
//   may be removed, nothing is deleted. Each of these three reasons is an obstacle (`MissingSummary`).

import { chunksOf } from "../../lib/yielding.ts";
import { type Intent, type Outcome, operatorActor, versionOf } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { isId, type StorefrontRecord, valueAt } from "../../model/record.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import { epochChangedError } from "../journal/journal-entries.ts";
import type { NumberedRow } from "./file-rows.ts";
import { readBodies } from "./site-values.ts";

/** How many records may be removed, and as of when. */
export interface RemovalOptions {
  /** Maximum records to remove; by default half of the records of the site. */
  readonly maxRemovals?: number | undefined;
  /** Records that changed after this head are kept; by default the head at the beginning of the import. */
  readonly asOf?: Head | undefined;
  /** Called for each record to remove, as JSON text: in a dry run for all of them, otherwise for each removed record. The import waits for it. */
  readonly onMissing?: ((id: number, body: string) => void | Promise<void>) | undefined;
}

/** The records that the file lacks, as numbers of records. */
export interface MissingSummary {
  /** Records that the file lacks, and that have not changed since `asOf`. */
  readonly count: number;
  /** Records that the site had when the import began, of which it may have changed many by now. */
  readonly total: number;
  readonly removed: number;
  /** Records that the file lacks, and that are kept, because others have created or changed them since `asOf`. */
  readonly changed: number;
  /** Why nothing is removed; absent if nothing prevents it. */
  readonly obstacle?: string | undefined;
  readonly asOf: Head;
}

/** Returns what operators see of a summary: the numbers, and the obstacle. */
export function toMissingNumbers({ asOf: _, ...numbers }: MissingSummary): Omit<MissingSummary, "asOf"> {
  return numbers;
}

/** Records per read and per transaction. */
const batchSize = 500;

interface MissingFromFileParts {
  readonly engine: Engine;
  readonly site: number;
  readonly resource: Resource;
  /** The field by which rows are matched; undefined for the ID. */
  readonly textField: TextFieldPath | undefined;
  /** The head at the beginning of the import. */
  readonly head: Head;
  /** The number of records at the beginning of the import. */
  readonly total: number;
  /** The head of the system site when the rows were matched. */
  readonly systemHead: Head;
  readonly options: RemovalOptions;
  readonly now: () => number;
}

/** Tracks the records that a file names, and then finds and removes the others. */
export class MissingFromFile {
  readonly #parts: MissingFromFileParts;
  readonly #asOf: Head;
  readonly #named: NamedRecords;
  /** The IDs and revisions of the records to remove. */
  #missing: { readonly ids: number[]; readonly revisions: number[] } = { ids: [], revisions: [] };
  #counts = { removed: 0, changed: 0 };
  #obstacle: string | undefined;

  /** @throws ProblemError `unavailable` if space is missing for the temporary file */
  constructor(parts: MissingFromFileParts) {
    this.#parts = parts;
    this.#asOf = parts.options.asOf ?? parts.head;
    this.#named = new NamedRecords(parts.textField);
  }

  get summary(): MissingSummary {
    const count = this.#missing.ids.length;
    return { count, total: this.#parts.total, ...this.#counts, obstacle: this.#obstacle, asOf: this.#asOf };
  }

  /** Whether records are to be removed. Call `find` first. */
  get mayRemove(): boolean {
    return this.#obstacle === undefined && this.#missing.ids.length > 0;
  }

  /** Tracks a row, before it is matched. */
  addRow(row: NumberedRow): void {
    this.#named.addRow(row);
  }

  /** Tracks the record of a row that was stored. */
  addStored(id: number): void {
    this.#named.addId(id);
  }

  /** Finds the records that the file lacks, after all rows. @throws ProblemError `conflict` if the site has another epoch than `asOf` */
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

  /** Reports the records that would be removed. */
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

  /** Returns the intents that remove the records, in batches. */
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

  /** Counts and reports the outcome of one removal. @throws ProblemError `conflict` if the site has another epoch */
  async addOutcome(outcome: Outcome): Promise<void> {
    if (outcome.kind !== "rejected") {
      this.#counts.removed++;
      await this.#parts.options.onMissing?.(outcome.id, outcome.body);
    } else if (outcome.rejectionReason === "other-epoch") throw epochChangedError("the other records were kept");
    else this.#counts.changed++;
  }

  /** Resets the outcomes, because the transaction has stored nothing. */
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
    return `the file lacks ${count} of ${total} ${plural}; to remove them, add --allow-removals ${count}`;
  }
}

/** The records that the rows of a file name: by ID in memory, or by their match values in a temporary file. */
class NamedRecords {
  readonly #textField: TextFieldPath | undefined;
  readonly #ids = new Set<number>();
  readonly #values: ValueIndex | undefined;
  #rows = 0;
  #named = 0;
  /** The number of the first row that does not say which record it means. */
  #unknown: number | undefined;

  constructor(textField: TextFieldPath | undefined) {
    this.#textField = textField;
    this.#values = textField && new ValueIndex();
  }

  /** Why it is not known which records the file lacks. */
  get obstacle(): string | undefined {
    if (this.#unknown !== undefined)
      return `row ${this.#unknown} does not say which record it means; correct it, so that its record is not removed`;
    if (this.#rows === 0) return "the file has no rows";
    return this.#named === 0 ? "no row has an ID; match the rows by another field" : undefined;
  }

  addRow({ number, decoded: { input, fieldErrors } }: NumberedRow): void {
    this.#rows++;
    const isUnreadable = fieldErrors.some(({ field }) => field === "") || typeof input !== "object" || input === null;
    if (isUnreadable) this.#unknown ??= number;
    else if (this.#textField) this.#addValue(number, valueAt(input as StorefrontRecord, this.#textField));
    else if ("ID" in input && input.ID !== undefined) {
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
