// The shapes of the console's API for records, their history and imports. types.ts says what the files of shapes have in common.

import type { FaultInfo } from "./types.ts";

// Records and their history

export type RecordValues = { readonly [name: string]: string | number | RecordValues };

/** First and last revision of the changes of a request. */
type RevisionsInfo = { readonly first: number; readonly last: number };
export type RecordResponse = { readonly record: { readonly ID: number }; readonly version: string };

/** A page of a list. The query is `?search=&sort=Name&order=desc&limit=25&offset=0&known=`, and `limit` is at most 5,000. */
export interface RecordsResponse {
  readonly total: number;
  /** The version of the whole list. If the query has it as `known`, and it is still this one, `records` is empty, and `isKnown` is true. */
  readonly version: string;
  readonly isKnown?: boolean | undefined;
  /** The nearest names, at most five, the nearest first: only if the search finds nothing. A name that stands for itself finds its record. */
  readonly suggestions?: readonly string[] | undefined;
  readonly records: readonly RecordResponse[];
}

export interface WriteResponse {
  readonly run: string;
  /** Absent if nothing changed. */
  readonly revisions?: RevisionsInfo | undefined;
}

export interface WrittenRecordResponse extends RecordResponse, WriteResponse {}

/** The last change of a record: who made it, and when. */
export interface LastChangeInfo {
  /** As in the history: `console:anna`, or the prefix of a key. */
  readonly actor: string;
  /** The name of the operator, or the label of the key; absent if nobody has such a name (any more). */
  readonly name?: string | undefined;
  readonly at: string;
}

/** A record that someone else has changed since the operator saw it. */
export interface ConflictInfo {
  readonly id: number;
  /** The stored record; null if it was deleted. */
  readonly record: RecordResponse["record"] | null;
  readonly version: string | null;
  /** Null if the journal does not have this change any more. */
  readonly changed: LastChangeInfo | null;
}

/** Why the values of a record are refused. */
export type RecordFaultInfo = FieldErrorInfo & { readonly id: number };

/**
 * The additional members of the problem of changes of which nothing was stored: `faults` has the first 500 faults, and `conflicts` the first 100
 * conflicts. The numbers count all records with one.
 */
export interface WriteProblem {
  readonly faults?: readonly RecordFaultInfo[] | undefined;
  readonly faultyCount?: number | undefined;
  readonly conflicts?: readonly ConflictInfo[] | undefined;
  readonly conflictCount?: number | undefined;
}

/**
 * The body of `POST .../records/{resource}/changes`: changes of 1 to 5,000 records, each of another one, stored together or not at all. `version` is the
 * version that the operator has seen; without it, the change overwrites any version. `values` has only the fields to change.
 */
export type ChangesBody = { readonly changes: readonly StagedChange[] };
export interface StagedChange {
  readonly id: number;
  readonly version?: string | undefined;
  readonly values: RecordValues;
}

/** The numbers of records that were changed, and that had these values already. */
export interface ChangesResponse extends WriteResponse {
  readonly changed: number;
  readonly unchanged: number;
}

/**
 * The body of `POST .../records/{resource}/set-field`: gives one text field the same value in the records `ids`, or in all that `search` finds (an empty
 * text finds all): at most 50,000. `field` is a path such as `Address.Country`. With the `digest` of a dry run, nothing is stored unless the same
 * records still have the same texts.
 */
export interface SetFieldBody {
  readonly field: string;
  readonly value: string;
  readonly ids?: readonly number[] | undefined;
  readonly search?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly digest?: string | undefined;
}

/** Of a dry run, what would be done: `revisions` is absent. */
export interface SetFieldResponse extends ChangesResponse {
  /** The number of records of `ids` that do not exist any more. They are left out. */
  readonly missing: number;
  /** The names of the first five records that change. */
  readonly names: readonly string[];
  /** Why the value is refused; only of a dry run. Otherwise it is the problem `invalid-record`. */
  readonly faults: readonly FieldErrorInfo[];
  /** Names the records that change, and the texts they lose. */
  readonly digest: string;
}

export type DeletionBody = { readonly ids: readonly (number | string)[] };

export type DeletionResponse = WriteResponse & { readonly deleted: number };

export interface FoundRecordInfo {
  readonly site: string;
  readonly resource: string;
  readonly id: number;
  readonly name: string;
  /** The field that equals the text; `ID` for the ID. */
  readonly field: string;
}

export interface FindResponse {
  readonly found: readonly FoundRecordInfo[];
  /** ID of the site after which to continue; null at the end. */
  readonly next: number | null;
}

/** An entry of the history: a single change, or all changes of a run. */
export interface HistoryEntryInfo {
  readonly run: string | null;
  readonly actor: string;
  /** The label of the key that made the change; null for another actor. */
  readonly actorLabel: string | null;
  readonly at: string;
  readonly first: number;
  readonly last: number;
  readonly counts: Partial<Record<"create" | "update" | "delete", number>>;
  /** The number of further changes of the run, from `first` to `last`, that the filter does not select. */
  readonly others: number;
  /** Paths of the resources of the changed records. */
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
  /** The next page ends before this revision; null if the journal has no earlier entries. */
  readonly next: number | null;
  /** The first revision in the journal. */
  readonly begins: number;
}

/** A part of the history as CSV. */
export interface HistoryPartResponse {
  readonly text: string;
  readonly changes: number;
  /** The last revision of the part, with which the next part is asked for; null after the last part. */
  readonly next: number | null;
}

/** Undoes the changes after `since`, through `until`, of the run `run`. */
export interface UndoBody {
  readonly since: number;
  readonly until?: number;
  readonly run?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** A record that an undo skips, and the later change that would be lost. */
interface SkippedRecordInfo extends Pick<FoundRecordInfo, "resource" | "id"> {
  readonly changed?: { readonly revision: number; readonly actor: string } | undefined;
}

/** The result of an undo or its dry run: numbers of records, and the first of the records that it skips (`skipped`). */
export interface UndoResponse extends WriteResponse {
  readonly deleted: number;
  readonly restored: number;
  readonly unchanged: number;
  readonly skippedCount: number;
  readonly skipped: readonly SkippedRecordInfo[];
}

/** By default, the revision before the last change of the record. */
export type RestoreBody = { readonly revision?: number };

// Imports

export type ImportKind = "created" | "updated" | "unchanged" | "rejected";
type ImportFormat = "csv" | "json" | "xml";

export interface ImportInfo {
  readonly id: string;
  readonly name: string;
  readonly resource: string;
  /** Number of parts of the file that have arrived. */
  readonly parts: number;
  readonly state: "new" | "checking" | "checked" | "running" | "done" | "failed";
  readonly size: number;
  /** Number of bytes of the file that were read so far. */
  readonly read: number;
  readonly rows: number;
  readonly counts: Readonly<Record<ImportKind, number>> | null;
  readonly skipped: number;
  /** The records that the file lacks; null if nobody has asked for them. */
  readonly missing: MissingInfo | null;
  readonly isInterrupted: boolean;
  readonly error: { readonly detail: string; readonly faults: readonly FieldErrorInfo[] } | null;
  readonly revisions: RevisionsInfo | null;
  readonly run: string | null;
  /** The result of an undo: the number of restored records, and of records that it skipped because they were changed again later. */
  readonly undone: { readonly restored: number; readonly skipped: number } | null;
  readonly hasRejects: boolean;
}

/** Numbers of records that a file lacks: to remove, of how many, removed, and kept because others have created or changed them since the check. */
export interface MissingInfo {
  readonly count: number;
  readonly total: number;
  readonly removed: number;
  readonly changed: number;
  /** Why none can be removed. */
  readonly obstacle?: string | undefined;
}

export interface FieldErrorInfo extends FaultInfo {
  readonly field: string;
}

/** The kinds of entries in the report of a dry run or import: those of rows, and a record that the file lacks. */
type ImportEntryKind = ImportKind | "missing";

/** An entry in the report of a dry run or import. */
export interface ImportRowInfo {
  /** 0 for a record that the file lacks. */
  readonly row: number;
  readonly kind: ImportEntryKind;
  readonly id: number | null;
  readonly before: RecordValues | null;
  readonly after: RecordValues | null;
  readonly faults: readonly FieldErrorInfo[];
}

export type ImportsResponse = { readonly imports: readonly ImportInfo[] };
export type ImportRowsResponse = { readonly rows: readonly ImportRowInfo[]; readonly total: number };

/** The path of a resource, and the name of the file. */
export type NewImportBody = { readonly resource: string; readonly name: string };

/** The encoding and the delimiter of a CSV file, instead of the detected ones. */
export type DialectBody = { readonly encoding?: string | undefined; readonly delimiter?: string | undefined };
export type ColumnInfo = {
  readonly name: string;
  /** The field that the column probably has. */
  readonly field?: string | undefined;
  /** Whether the name of the column is not the name of the field. */
  readonly isGuessed: boolean;
  readonly samples: readonly string[];
};

/** The preview of a file: its detected format, and the columns of a CSV file. */
export interface FilePreviewResponse extends DialectBody {
  readonly format: ImportFormat;
  readonly columns?: readonly ColumnInfo[];
}

/** A mapping in the form of a file for `import --map`. */
export type ImportMapping = { readonly fields: Readonly<Record<string, unknown>>; readonly skip?: unknown };

/** The options of a dry run, which the import then uses too. */
export interface CheckBody extends DialectBody {
  readonly format: ImportFormat;
  readonly mapping?: ImportMapping | undefined;
  readonly match?: string | undefined;
  /** Whether to find the records that the file lacks. */
  readonly findMissing?: boolean | undefined;
}

/** The rows that the operator excludes from an import: by number (`without`), and by kind. */
export interface RunBody {
  readonly without?: readonly number[];
  readonly withoutKinds?: readonly ImportKind[];
  /** The number of records to remove, as the check has found it. By default, none is removed. */
  readonly removals?: number | undefined;
}
