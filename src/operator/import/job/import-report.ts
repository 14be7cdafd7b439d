// The report of an import or dry run: one entry per row, and one per record that the file lacks. It is stored in a file to save memory.

import { type FileHandle, open } from "node:fs/promises";
import type { AcceptedOutcome } from "../../../model/change.ts";
import { type FieldError, ProblemError, withFileErrors } from "../../../model/errors.ts";
import type { StorefrontRecord, Values } from "../../../model/record.ts";
import { type Resource, valuesIn } from "../../../model/resource.ts";
import type { NumberedRow } from "../file-rows.ts";

export const rowKinds = ["created", "updated", "unchanged", "rejected"] as const;
export type RowKind = (typeof rowKinds)[number];

/** The kinds of entries in a report: those of rows, and a record that the file lacks. */
export const entryKinds = [...rowKinds, "missing"] as const;
export type EntryKind = (typeof entryKinds)[number];

interface ReportEntry {
  /** The number of the row, as in `NumberedRow`; 0 for a record that the file lacks. */
  readonly row: number;
  readonly kind: EntryKind;
  readonly id: number | null;
  /** The record before and after the import; null if it did not exist or is not included. For a rejected row, `after` has its values. */
  readonly before: StorefrontRecord | null;
  readonly after: StorefrontRecord | null;
  /** The field errors of a rejected row. The console's API has this name. */
  readonly faults: readonly FieldError[];
}

/** Maximum characters that are buffered before a write. */
const bufferSize = 256 * 1024;

export class ImportReport {
  readonly #file: FileHandle;
  /** The number of each row in the imported file. */
  readonly #numbers: number[] = [];
  /** The end of each row in the file, in bytes. */
  readonly #ends: number[] = [];
  /** The indexes of the rows, by kind. */
  readonly #byKind: Record<EntryKind, number[]> = {
    created: [],
    updated: [],
    unchanged: [],
    rejected: [],
    missing: [],
  };
  #pending = "";
  #end = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Creates the file. @param path of a file that does not exist @throws ProblemError `unavailable` */
  static async open(path: string): Promise<ImportReport> {
    return new ImportReport(await withReportErrors(() => open(path, "wx+", 0o600)));
  }

  /** The number of rows of each kind. */
  get counts(): Record<RowKind, number> {
    const { created, updated, unchanged, rejected } = this.#byKind;
    return {
      created: created.length,
      updated: updated.length,
      unchanged: unchanged.length,
      rejected: rejected.length,
    };
  }

  /** The number of rows that were added, without the records that the file lacks. */
  get length(): number {
    return this.#numbers.length - this.#byKind.missing.length;
  }

  /** @throws ProblemError `unavailable` */
  async add(row: ReportEntry): Promise<void> {
    const line = JSON.stringify(row);
    this.#byKind[row.kind].push(this.#numbers.length);
    this.#numbers.push(row.row);
    this.#end += Buffer.byteLength(line);
    this.#ends.push(this.#end);
    this.#pending += line;
    if (this.#pending.length >= bufferSize) await this.flush();
  }

  /** Writes the rows that were added, so that they can be read. @throws ProblemError `unavailable` */
  async flush(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    if (text !== "") await withReportErrors(() => this.#file.appendFile(text));
  }

  /** Reads rows of a kind, in their order. Call `flush` first. */
  async page(kind: EntryKind, offset: number, limit: number): Promise<ReportEntry[]> {
    const rows: ReportEntry[] = [];
    for (const index of this.#byKind[kind].slice(offset, offset + limit)) {
      const start = this.#ends[index - 1] ?? 0;
      const bytes = Buffer.alloc((this.#ends[index] as number) - start);
      const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, start);
      if (bytesRead < bytes.length) throw new ProblemError("unavailable", "the rows could not be kept");
      rows.push(JSON.parse(bytes.toString()));
    }
    return rows;
  }

  /** The number of entries of a kind. */
  count(kind: EntryKind): number {
    return this.#byKind[kind].length;
  }

  /** Returns the numbers of the rows of these kinds. */
  *numbers(kinds: readonly RowKind[]): Generator<number> {
    for (const kind of kinds) for (const index of this.#byKind[kind]) yield this.#numbers[index] as number;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Returns the entry for a row that was not rejected. @param hasContents whether to include the record: only a dry run needs it */
export function toReportRow({ number }: NumberedRow, outcome: AcceptedOutcome, hasContents: boolean): ReportEntry {
  const { operation, id, body } = outcome;
  const kind: RowKind = outcome.kind === "unchanged" ? "unchanged" : operation === "create" ? "created" : "updated";
  const change = outcome.kind === "done" ? outcome.change : undefined;
  const entry = { row: number, kind, id, before: null, after: null, faults: [] };
  if (!hasContents) return entry;
  const before = change && "before" in change && typeof change.before === "string" ? JSON.parse(change.before) : null;
  return { ...entry, before, after: JSON.parse(body) };
}

/** Returns the entry for a row that was rejected, with the beginnings of its values. */
export function toRejectedEntry(
  { fields }: Resource,
  { number: row, decoded: { input } }: NumberedRow,
  faults: readonly FieldError[],
): ReportEntry {
  const after = { ID: 0, ...shortened(valuesIn(fields, input) as Values) };
  return { row, kind: "rejected", id: null, before: null, after, faults };
}

/** Returns the entry for a record that is missing from the file. @param body the record as JSON text, to include it */
export function toMissingEntry(id: number, body: string | undefined): ReportEntry {
  return { row: 0, kind: "missing", id, before: body === undefined ? null : JSON.parse(body), after: null, faults: [] };
}

/** Maximum characters of a rejected value that are shown. A row can have a million of them, and the page shows 200 rows at once. */
const maxShown = 1000;

function shortened(values: Values): Values {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === "string" ? value.slice(0, maxShown) : shortened(value),
  ]);
  return Object.fromEntries(entries);
}

function withReportErrors<T>(write: () => Promise<T>): Promise<T> {
  return withFileErrors("the rows cannot be kept", write);
}
