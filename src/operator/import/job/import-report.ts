// The report of an import or dry run, with an entry per row and per record that isn't in the file. It's on disk to save memory.

import { type FileHandle, open } from "node:fs/promises";
import type { AcceptedOutcome } from "../../../model/change.ts";
import { type FieldError, ProblemError, withFileErrors } from "../../../model/errors.ts";
import type { StorefrontRecord, Values } from "../../../model/record.ts";
import { type Resource, valuesIn } from "../../../model/resource.ts";
import type { NumberedRow, RowWarning } from "../file-rows.ts";

export const rowKinds = ["created", "updated", "unchanged", "rejected"] as const;
export type RowKind = (typeof rowKinds)[number];

/** `missing`: a record that isn't in the file. `warned`: a row of any kind that has warnings. */
export const entryKinds = [...rowKinds, "missing", "warned"] as const;
export type EntryKind = (typeof entryKinds)[number];

interface ReportEntry {
  /** The row's number, as in `NumberedRow`; 0 for a missing record. */
  readonly row: number;
  readonly kind: Exclude<EntryKind, "warned">;
  readonly id: number | null;
  /** The record before and after the import; null if it didn't exist or isn't included. For a rejected row, `after` has its values. */
  readonly before: StorefrontRecord | null;
  readonly after: StorefrontRecord | null;
  /** Why the row was rejected. */
  readonly faults: readonly FieldError[];
  readonly warnings: readonly RowWarning[];
}

/** In characters. */
const bufferSize = 256 * 1024;

export class ImportReport {
  readonly #file: FileHandle;
  /** Each entry's row number. */
  readonly #numbers: number[] = [];
  /** Where each entry ends in the report's file, in bytes. */
  readonly #ends: number[] = [];
  /** Indexes into the above. */
  readonly #byKind: Record<EntryKind, number[]> = {
    created: [],
    updated: [],
    unchanged: [],
    rejected: [],
    missing: [],
    warned: [],
  };
  #pending = "";
  #end = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @param path must not exist yet @throws ProblemError `unavailable` */
  static async open(path: string): Promise<ImportReport> {
    return new ImportReport(await withReportErrors(() => open(path, "wx+", 0o600)));
  }

  get counts(): Record<RowKind, number> {
    const { created, updated, unchanged, rejected } = this.#byKind;
    return {
      created: created.length,
      updated: updated.length,
      unchanged: unchanged.length,
      rejected: rejected.length,
    };
  }

  /** How many rows were added, not counting missing records. */
  get length(): number {
    return this.#numbers.length - this.#byKind.missing.length;
  }

  /** @throws ProblemError `unavailable` */
  async add(row: ReportEntry): Promise<void> {
    const line = JSON.stringify(row);
    this.#byKind[row.kind].push(this.#numbers.length);
    if (row.warnings.length > 0) this.#byKind.warned.push(this.#numbers.length);
    this.#numbers.push(row.row);
    this.#end += Buffer.byteLength(line);
    this.#ends.push(this.#end);
    this.#pending += line;
    if (this.#pending.length >= bufferSize) await this.flush();
  }

  /** Makes all entries readable. @throws ProblemError `unavailable` */
  async flush(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    if (text !== "") await withReportErrors(() => this.#file.appendFile(text));
  }

  /** Call `flush` first. */
  async page(kind: EntryKind, offset: number, limit: number): Promise<ReportEntry[]> {
    const rows: ReportEntry[] = [];
    for (const index of this.#byKind[kind].slice(offset, offset + limit)) {
      const start = this.#ends[index - 1] ?? 0;
      const bytes = Buffer.alloc((this.#ends[index] as number) - start);
      const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, start);
      if (bytesRead < bytes.length)
        throw new ProblemError("unavailable", "the report of this import is incomplete; check the file again");
      rows.push(JSON.parse(bytes.toString()));
    }
    return rows;
  }

  count(kind: EntryKind): number {
    return this.#byKind[kind].length;
  }

  /** Row numbers. */
  *numbers(kinds: readonly RowKind[]): Generator<number> {
    for (const kind of kinds) for (const index of this.#byKind[kind]) yield this.#numbers[index] as number;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** @param hasContents whether to include the record, which only a dry run needs */
export function toReportRow(
  { number, warnings = [] }: NumberedRow,
  outcome: AcceptedOutcome,
  hasContents: boolean,
): ReportEntry {
  const { operation, id, body } = outcome;
  const kind: RowKind = outcome.kind === "unchanged" ? "unchanged" : operation === "create" ? "created" : "updated";
  const change = outcome.kind === "done" ? outcome.change : undefined;
  const entry = { row: number, kind, id, before: null, after: null, faults: [], warnings };
  if (!hasContents) return entry;
  const before = change && "before" in change && typeof change.before === "string" ? JSON.parse(change.before) : null;
  return { ...entry, before, after: JSON.parse(body) };
}

/** Shortens long values. */
export function toRejectedEntry(
  { fields }: Resource,
  { number: row, decoded: { input }, warnings = [] }: NumberedRow,
  faults: readonly FieldError[],
): ReportEntry {
  const after = { ID: 0, ...shortened(valuesIn(fields, input) as Values) };
  return { row, kind: "rejected", id: null, before: null, after, faults, warnings };
}

/** @param body the record's JSON, to include it */
export function toMissingEntry(id: number, body: string | undefined): ReportEntry {
  const before = body === undefined ? null : JSON.parse(body);
  return { row: 0, kind: "missing", id, before, after: null, faults: [], warnings: [] };
}

/** Characters per value. A rejected row can have a million, and the page shows 200 rows. */
const maxShown = 1000;

function shortened(values: Values): Values {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === "string" ? value.slice(0, maxShown) : shortened(value),
  ]);
  return Object.fromEntries(entries);
}

function withReportErrors<T>(write: () => Promise<T>): Promise<T> {
  return withFileErrors("can't save the report of this import", write);
}
