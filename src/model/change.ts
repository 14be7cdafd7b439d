// A write, from request to journal:
//
//   `Intent`          A validated write that hasn't been decided yet, with the writer's preconditions.
//   `Outcome`         What became of an intent: done, unchanged, replayed or rejected. Unless rejected, it has the record after the write
//   (`RecordAfterWrite`).
//   `RecordChange`    The effect of an intent that was done. `Change` adds the time and actor, `JournalEntry` the run and the record before.
//
// Below these are the versions of records and sites, which combine an epoch and a revision.

import type { Head } from "./head.ts";

/** What a change did to its record. */
export type Operation = "create" | "update" | "delete";

/** The part of a change that determines the site's records. */
export interface RecordChange {
  /** The number of the change, counted per site from 1 without gaps. */
  readonly revision: number;
  /** The resource's name, such as `order-status`. */
  readonly resource: string;
  readonly id: number;
  readonly operation: Operation;
  /** JSON of the record after the change; for a delete, of the deleted record. */
  readonly body: string;
}

/** A change to a record, as clients see it in the feed. */
export interface Change extends RecordChange {
  /** Milliseconds since 1970 (UTC). Times in a journal never decrease. */
  readonly at: number;
  /** The prefix of an API key, `operator`, `operator:<name>`, `console:<name>` or `webhook`. */
  readonly actor: string;
}

/** A change in a page of the feed. */
export interface FeedChange {
  readonly cursor: string;
  /** The site's epoch. Together with the change's revision, it's the record's version (`versionOf`) until the next change to it. */
  readonly epoch: string;
  readonly change: Change;
  /** The run, if the change was made by a batch request or an undo. */
  readonly run?: string | undefined;
}

/** One row of a site's journal. */
export interface JournalEntry extends Change {
  /** ID of the command, console action, batch request or undo that made the change. Null for a client's single write. */
  readonly run: string | null;
  /** JSON of the record before an update. Null for a create, and for a delete, whose `body` already has it. */
  readonly before: string | null;
}

/** Entries of a site's journal, read in one transaction. */
export interface JournalPage {
  readonly head: Head;
  /** The revision up to which the journal was pruned; 0 if it never was. */
  readonly floor: number;
  readonly entries: readonly JournalEntry[];
}

/** The actor in intents from operator/. `withActor` (system/with-actor.ts) replaces it with the operator's name, if there is one. */
export const operatorActor = "operator";

/** A validated write to one record, not yet decided against the stored one. */
export interface Intent {
  readonly site: number;
  readonly resource: string;
  /**
   * `create` assigns the next ID, or uses `id` (in imports) if no record ever had it.
   * `restore` stores `valuesJson` as record `id`, whether that exists or was deleted. The journal shows an update or a create.
   * `upsert` updates the record that has the value in `match`, provided it's the only one, or creates one if there's none. A `delete` with a `match` deletes
   * that record. If `id` is set, that must be the record.
   */
  readonly operation: Operation | "restore" | "upsert";
  readonly id?: number | undefined;
  /**
   * Values as `JSON.stringify` writes them: all of them for a create, those to change for an update or upsert, the whole record for a restore. Empty
   * for an upsert whose values aren't valid as a change; that one can only create.
   */
  readonly valuesJson: string;
  /** How an upsert, or a delete without an `id`, finds its record. */
  readonly match?: Match | undefined;
  /** Rejects the write unless the record has one of these versions. */
  readonly ifVersion?: readonly string[] | undefined;
  /** Rejects the write if the record has one of these versions; `*` matches any version. */
  readonly ifNotVersion?: readonly string[] | undefined;
  /** Rejects the write unless the site's head is still the one the writer read (`headVersion`). In an atomic batch, only the first intent has it. */
  readonly ifHead?: string | undefined;
  /** Rejects the write if the site has been restored or removed since the writer read this epoch. */
  readonly ifEpoch?: string | undefined;
  /** Lets an atomic batch go ahead without this intent if it's rejected, unless the reason is a new epoch. */
  readonly isOptional?: boolean | undefined;
  /**
   * The system site's epoch, as the writer read it. Rejects the write if the whole database was restored since. Unlike `ifEpoch`, it also works for a
   * site without changes, which has no epoch yet.
   */
  readonly ifSystemEpoch?: string | undefined;
  /** Rejects the write if the key or site has changed since, so that the writer is authorized again. */
  readonly authorizedBy?: Authorization | undefined;
  readonly actor: string;
  /** ID of the run of a command or console action. Batch requests and undos get theirs in the transaction (`AtomicCommitOptions.run`). */
  readonly run?: string | undefined;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
  readonly idempotency?: Idempotency | undefined;
}

/**
 * How a write finds its record: by the value of a field. The writer looks up which records have the value at some revision, and the transaction
 * brings that up to date (store/writes/current-matches.ts). Revisions can't be compared across a restore, so the intent also needs `ifSystemEpoch`,
 * `ifEpoch` or `authorizedBy`.
 */
export interface Match {
  /** The member names leading to the field, such as `Address` and `Town`. */
  readonly keys: readonly string[];
  /** Not empty. */
  readonly value: string;
  /** The site revision at which the writer looked up the records. The lookup may have seen later changes too. */
  readonly revision: number;
  readonly found: FoundRecords;
  /** Values of the new record if none has the value; if absent, `valuesJson` is used. Empty if no record can be created. */
  readonly newJson?: string | undefined;
}

/** The records that have a given text in a field. */
export interface FoundRecords {
  /** At most `maxFoundIds` of their IDs. */
  readonly ids: readonly number[];
  /** How many there are in total. */
  readonly count: number;
}

export const maxFoundIds = 6;

/** What a write was authorized by. */
interface Authorization {
  /** ID of the API key. */
  readonly keyId: number;
  /** ID of the host's site, if the key selected its sandbox. Otherwise the write goes to the host's site. */
  readonly hostSite?: number | undefined;
  /** The revision of the system site at which the key and sites were checked. */
  readonly revision: number;
  /** The timeline of that revision (`Head.timeline`). On another timeline, it may be a different change. */
  readonly timeline?: number | undefined;
}

/** Identifies a write that the client may repeat. */
export interface Idempotency {
  /** ID of the API key. For a key that replaced others by rotation, the ID of the first of them. */
  readonly keyId: number;
  readonly name: string;
  /** Digest of the request. If it differs, so does the request. */
  readonly digest: string;
}

/** A record after a write, as the response shows it. */
export interface RecordAfterWrite {
  readonly operation: Operation;
  readonly id: number;
  /** The site's epoch. Together with `revision`, it's the record's version (`versionOf`). */
  readonly epoch: string;
  readonly revision: number;
  /** JSON of the record; for a delete, of the deleted record. */
  readonly body: string;
}

/** A change was made. `timeline` is the database's at that time (`Head.timeline`). */
interface Done extends RecordAfterWrite {
  readonly kind: "done";
  readonly change: RecordChange;
  readonly timeline?: number | undefined;
}

/**
 * What became of an intent: it made a change, changed nothing because the record already has these values, repeated an earlier request and got its
 * response, or was rejected.
 */
export type Outcome = Done | (RecordAfterWrite & { readonly kind: "unchanged" | "replayed" }) | RejectedOutcome;

export type AcceptedOutcome = Exclude<Outcome, RejectedOutcome>;

export interface RejectedOutcome {
  readonly kind: "rejected";
  /**
   * `id-used`: a deleted record had the ID. `id-exists`: a record has the ID. `authorization-changed`: the key or the site has changed since it was
   * checked. `other-epoch`: the site or the system site has a new epoch.
   *
   * Only with a `match`: `several-matches`: more than one record has the value (see `found`). `match-moved`: an earlier intent in the transaction took
   * the value from the record or gave it to another (see `found`). `invalid-create`, `invalid-update`: the values aren't valid as a new record, or as
   * a change. `match-outdated`: the changes since the lookup are too many or were pruned, so the writer has to look up the records again.
   */
  readonly rejectionReason:
    | "not-found"
    | "precondition-failed"
    | "idempotency-key-reused"
    | "id-used"
    | "id-exists"
    | "several-matches"
    | "match-moved"
    | "invalid-create"
    | "invalid-update"
    | "match-outdated"
    | "authorization-changed"
    | "other-epoch";
  readonly found?: FoundRecords | undefined;
  /** The revision of the record, existing or deleted, that caused the rejection. */
  readonly revision?: number | undefined;
}

/** Returns the version of a record or list, from the site's epoch and the revision of the last change. Every state has its own version. */
export function versionOf(epoch: string, revision: number): string {
  return `${epoch}.${revision}`;
}

/** Returns the version in parts, so that a response can be written without joining them. */
export function versionParts({ epoch }: { epoch: string }, revision: number): readonly (string | number)[] {
  return [epoch, ".", revision];
}

/** Returns the version of a whole site. Empty without changes, because there may not be an epoch yet. */
export function headVersion({ epoch, revision }: { epoch: string; revision: number }): string {
  return revision === 0 ? "" : versionOf(epoch, revision);
}
