// The shapes of the console's API for records, history and imports. See types.ts for the conventions.

import type { FaultInfo } from "./types.ts";

// Records and their history

export type RecordValues = { readonly [name: string]: string | number | RecordValues };

/** The first and last revision of a request's changes. */
type RevisionsInfo = { readonly first: number; readonly last: number };
export type RecordResponse = { readonly record: { readonly ID: number }; readonly version: string };

/** A page of a list. The query is `?search=&sort=Name&order=desc&limit=25&offset=0`, with a `limit` of up to 5,000. */
export interface RecordsResponse {
  readonly total: number;
  /** The number of records, ignoring the search. */
  readonly size: number;
  /** Up to five names similar to the search, closest first, if the search found nothing. */
  readonly suggestions?: readonly string[] | undefined;
  readonly records: readonly RecordResponse[];
}

export interface WriteResponse {
  readonly run: string;
  /** Absent if nothing changed. */
  readonly revisions?: RevisionsInfo | undefined;
}

export interface WrittenRecordResponse extends RecordResponse, WriteResponse {}

/** Who changed a record last, and when. */
export interface LastChangeInfo {
  /** As in the history: `console:anna`, or a key's prefix. */
  readonly actor: string;
  /** The operator's name or the key's label. Absent if the operator or key no longer exists, or the key has no label. */
  readonly name?: string | undefined;
  readonly at: string;
}

/** A record that someone else changed after the operator loaded it. */
export interface ConflictInfo {
  readonly id: number;
  /** The stored record, or null if it was deleted. */
  readonly record: RecordResponse["record"] | null;
  readonly version: string | null;
  /** Null if the journal no longer has this change. */
  readonly changed: LastChangeInfo | null;
}

/** Why a record's values were rejected. */
export type RecordFaultInfo = FieldErrorInfo & { readonly id: number };

/**
 * What a problem adds if a request's changes weren't stored: the first 500 `faults` and the first 100 `conflicts`, and how many records have either.
 */
export interface WriteProblem {
  readonly faults?: readonly RecordFaultInfo[] | undefined;
  readonly faultyCount?: number | undefined;
  readonly conflicts?: readonly ConflictInfo[] | undefined;
  readonly conflictCount?: number | undefined;
}

/**
 * The body of `POST .../records/{resource}/changes`: changes to 1 to 5,000 different records, stored together or not at all. `version` is the version
 * the operator saw; without it, the change overwrites any version. `values` has only the fields to change.
 */
export type ChangesBody = { readonly changes: readonly StagedChange[] };
export interface StagedChange {
  readonly id: number;
  readonly version?: string | undefined;
  readonly values: RecordValues;
}

/** How many records were changed, and how many already had these values. */
export interface ChangesResponse extends WriteResponse {
  readonly changed: number;
  readonly unchanged: number;
  /** The records' versions from now on, in the order of the changes. */
  readonly versions: readonly string[];
}

/**
 * The body of `POST .../records/{resource}/set-field`, which sets one text field, such as `Address.Country`, to the same value in up to 50,000
 * records: those in `ids`, or all that match `search` (an empty string matches all). If it includes the `digest` of a dry run, nothing is stored
 * unless the same records still have the same values.
 */
export interface SetFieldBody {
  readonly field: string;
  readonly value: string;
  readonly ids?: readonly number[] | undefined;
  readonly search?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly digest?: string | undefined;
}

/** In a dry run, describes what would change, without `revisions`. */
export interface SetFieldResponse extends Omit<ChangesResponse, "versions"> {
  /** Number of `ids` that were skipped because the records no longer exist. */
  readonly missing: number;
  /** The names of the first five records to change. */
  readonly names: readonly string[];
  /** Why a dry run's value is invalid. Outside a dry run, it's an `invalid-record` problem instead. */
  readonly faults: readonly FieldErrorInfo[];
  /** Identifies the records to change and the values they'd lose. */
  readonly digest: string;
}

export type DeletionBody = { readonly ids: readonly (number | string)[] };

export type DeletionResponse = WriteResponse & { readonly deleted: number };

export interface FoundRecordInfo {
  readonly site: string;
  readonly resource: string;
  readonly id: number;
  readonly name: string;
  /** The field that matched; `ID` if the ID did. */
  readonly field: string;
}

export interface FindResponse {
  readonly found: readonly FoundRecordInfo[];
  /** The ID of the site to continue after, or null at the end. */
  readonly next: number | null;
}

/** An entry in the history: a single change, or all changes of a run. */
export interface HistoryEntryInfo {
  readonly run: string | null;
  readonly actor: string;
  /** The label of the key that made the change; null for other actors. */
  readonly actorLabel: string | null;
  readonly at: string;
  readonly first: number;
  readonly last: number;
  readonly counts: Partial<Record<"create" | "update" | "delete", number>>;
  /** How many of the run's changes between `first` and `last` the filter hides. */
  readonly others: number;
  /** The changed records' resources, by path. */
  readonly resources: readonly string[];
  readonly change: {
    readonly operation: "create" | "update" | "delete";
    readonly resource: string;
    readonly id: number;
    readonly before: RecordValues | null;
    readonly after: RecordValues | null;
  };
}

export interface HistoryResponse {
  readonly entries: readonly HistoryEntryInfo[];
  /** Fetch the next page with this revision as `before`. Null if the journal has no earlier entries. */
  readonly next: number | null;
  /** The oldest revision still in the journal. */
  readonly begins: number;
}

/** Part of the history as CSV. */
export interface HistoryPartResponse {
  readonly text: string;
  readonly changes: number;
  /** Fetch the next part with this revision as `after`. Null after the last part. */
  readonly next: number | null;
}

/** Undoes the changes of `run` after `since`, up to and including `until`. */
export interface UndoBody {
  readonly since: number;
  readonly until?: number;
  readonly run?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** A record the undo skips, and the later change it would lose. */
interface SkippedRecordInfo extends Pick<FoundRecordInfo, "resource" | "id"> {
  readonly changed?: { readonly revision: number; readonly actor: string } | undefined;
}

/** How many records an undo (or its dry run) deleted, restored or skipped, and the first few it skipped. */
export interface UndoResponse extends WriteResponse {
  readonly deleted: number;
  readonly restored: number;
  readonly unchanged: number;
  readonly skippedCount: number;
  readonly skipped: readonly SkippedRecordInfo[];
}

/** Defaults to the revision before the record's last change. */
export type RestoreBody = { readonly revision?: number };

// Imports

export type ImportKind = "created" | "updated" | "unchanged" | "rejected";
type ImportFormat = "csv" | "json" | "xml" | "xlsx";

export interface ImportInfo {
  readonly id: string;
  readonly name: string;
  readonly resource: string;
  /** Number of parts received. */
  readonly parts: number;
  readonly state: "new" | "checking" | "checked" | "running" | "done" | "failed";
  readonly size: number;
  /** Number of the file's bytes read so far. */
  readonly read: number;
  readonly rows: number;
  readonly counts: Readonly<Record<ImportKind, number>> | null;
  readonly skipped: number;
  /** How many rows have warnings. */
  readonly warned: number;
  /** Invalid values that a mapping could replace. Empty while the check or import is running. */
  readonly values: readonly RepairableValuesInfo[];
  /** Records that aren't in the file. Null if the check didn't look for them. */
  readonly missing: MissingInfo | null;
  readonly isInterrupted: boolean;
  readonly error: { readonly detail: string; readonly faults: readonly FieldErrorInfo[] } | null;
  readonly revisions: RevisionsInfo | null;
  readonly run: string | null;
  /** How many records undoing the import has deleted, restored, and skipped because they had been changed since. */
  readonly undone: { readonly deleted: number; readonly restored: number; readonly skipped: number } | null;
  readonly hasRejects: boolean;
  /** Of the last check. Null while a check or import is running. */
  readonly options: CheckBody | null;
}

/**
 * Records that aren't in the file: how many to remove, out of how many in total, how many were removed, and how many were kept because someone
 * created or changed them after the check.
 */
export interface MissingInfo {
  readonly count: number;
  readonly total: number;
  readonly removed: number;
  readonly changed: number;
  /** Why none of them can be removed. */
  readonly obstacle?: string | undefined;
}

/** Text in a field's column that isn't valid: up to 100 different ones, most frequent first. `moreRows` counts the rows with others. */
export interface RepairableValuesInfo {
  readonly field: string;
  readonly contents: readonly {
    readonly content: string;
    readonly rows: number;
    /** What it probably means, such as `DE` for `Germany`. */
    readonly suggestion?: string | undefined;
  }[];
  readonly moreRows?: number | undefined;
}

export interface FieldErrorInfo extends FaultInfo {
  readonly field: string;
}

/** What a report entry is about: a row, by its outcome, or a record that isn't in the file (`missing`). The kind `warned` lists all rows with warnings. */
type ImportEntryKind = ImportKind | "missing";

/** An entry in the report of a check or an import. */
export interface ImportRowInfo {
  /** 0 for a record that isn't in the file. */
  readonly row: number;
  readonly kind: ImportEntryKind;
  readonly id: number | null;
  readonly before: RecordValues | null;
  readonly after: RecordValues | null;
  readonly faults: readonly FieldErrorInfo[];
  readonly warnings: readonly RowWarningInfo[];
}

/** What may surprise people about a row: in a column (by its name or letter), a field, or the whole row. */
interface RowWarningInfo {
  readonly column?: string | undefined;
  readonly field?: string | undefined;
  readonly detail: string;
}

export type ImportsResponse = { readonly imports: readonly ImportInfo[] };
export type ImportRowsResponse = { readonly rows: readonly ImportRowInfo[]; readonly total: number };

/** The resource's path, and the name of the file. */
export type NewImportBody = { readonly resource: string; readonly name: string };

/** How to read a table. Everything is detected by default. */
export interface DialectBody {
  /** Of a CSV file. */
  readonly encoding?: string | undefined;
  /** Of a CSV file. */
  readonly delimiter?: string | undefined;
  /** The name of a workbook's sheet. */
  readonly sheet?: string | undefined;
  /** The number of the row that names the columns, as a spreadsheet shows it. 0 if no row does. */
  readonly headerRow?: number | undefined;
}

/** A column of a CSV file or workbook. */
export type ColumnInfo = {
  /** Its letter in a spreadsheet. */
  readonly letter: string;
  /** An empty string if it has none. */
  readonly name: string;
  /** What a mapping calls it: its name, or its letter if the name is empty or repeated. */
  readonly key: string;
  /** The suggested field for this column. */
  readonly field?: string | undefined;
  /** Whether the suggestion is a guess, because the column's name isn't a field's. */
  readonly isGuessed: boolean;
  readonly samples: readonly string[];
};

/** A preview of the file: its format, and how it's read if it's a table (CSV or a workbook). */
export interface FilePreviewResponse extends DialectBody {
  readonly format: ImportFormat;
  /** The sheets of a workbook. */
  readonly sheets?: readonly string[] | undefined;
  /** The first ten rows with content, and the header row. Cells are cut to 200 characters. */
  readonly rows?: readonly { readonly number: number; readonly cells: readonly string[] }[] | undefined;
  readonly columns?: readonly ColumnInfo[] | undefined;
}

/** A column mapping, in the same format as the file for `import --map`. */
export type ImportMapping = { readonly fields: Readonly<Record<string, unknown>>; readonly skip?: unknown };

/** Options of the check, which the import then uses too. */
export interface CheckBody extends DialectBody {
  readonly mapping?: ImportMapping | undefined;
  readonly match?: string | undefined;
  /** Whether to look for records that aren't in the file. */
  readonly findMissing?: boolean | undefined;
}

/** The rows to leave out of the import, by number (`without`) or by kind. */
export interface RunBody {
  readonly without?: readonly number[];
  readonly withoutKinds?: readonly ImportKind[];
  /** How many records to remove, as the check counted them. By default, none. */
  readonly removals?: number | undefined;
}
