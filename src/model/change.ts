// A write, from its request to the journal.
//
//   `Intent`          A validated write that is not decided yet, and the conditions of the writer.
//   `Outcome`         The result of an intent: done, unchanged, replayed or rejected, with the record after the write (`RecordAfterWrite`).
//   `RecordChange`    The effect of an intent that was done. A `Change` also has time and actor, a `JournalEntry` also run and the record before.
//
// The end of the file has the versions of records and sites, which are made of an epoch and a revision.

import type { Head } from "./head.ts";

/** The effect of a change on its record. */
export type Operation = "create" | "update" | "delete";

/** The part of a change that determines the site's records. */
export interface RecordChange {
  /** The number of the change, counted per site from 1 without a gap. */
  readonly revision: number;
  /** The resource's name, such as `order-status`. */
  readonly resource: string;
  readonly id: number;
  readonly operation: Operation;
  /** The record after the change, as JSON text; for a delete, the deleted record. */
  readonly body: string;
}

/** One numbered change to one record, as clients see it in the feed. */
export interface Change extends RecordChange {
  /** Milliseconds since 1970 (UTC). The times in a journal never decrease. */
  readonly at: number;
  /** The prefix of an API key, `operator`, `operator:<name>`, `console:<name>` or `webhook`. */
  readonly actor: string;
}

/** A change in a page of the feed. */
export interface FeedChange {
  /** The cursor after this change. */
  readonly cursor: string;
  /** The epoch of the site. The record has the version of this epoch and the change's revision (`versionOf`), until the next change to it. */
  readonly epoch: string;
  readonly change: Change;
  /** The run of the batch request or undo that made the change; undefined for another change. */
  readonly run?: string | undefined;
}

/** One row of a site's journal. */
export interface JournalEntry extends Change {
  /** The ID of the run: of one command, one console action, one batch request or one undo. Null for a single write of a client. */
  readonly run: string | null;
  /**
   * The record before an update, as JSON text. Null for a create, and for a delete, because `body` then has the record.
   */
  readonly before: string | null;
}

/** Entries of a site's journal, read in one transaction. */
export interface JournalPage {
  readonly head: Head;
  /** The revision through which the journal was pruned; 0 if nothing was pruned. */
  readonly floor: number;
  readonly entries: readonly JournalEntry[];
}

/** The actor that operator/ writes into intents. `withActor` (system/with-actor.ts) replaces it with the name of the operator, if there is one. */
export const operatorActor = "operator";

/** A write to one record that was validated, but not yet decided against the stored record. */
export interface Intent {
  readonly site: number;
  readonly resource: string;
  /**
   * `create` assigns the next ID; an import can give an `id` that was never used.
   * `restore` stores `valuesJson` as the record `id`, whether the record exists or was deleted. The journal has it as an update or a create.
   * `upsert` updates the only record that has the value of `match`, or creates one if none has it. With an `id`, it may do this to no other record.
   */
  readonly operation: Operation | "restore" | "upsert";
  readonly id?: number | undefined;
  /**
   * JSON text as `JSON.stringify` writes it: all values (create), the values to change (update, upsert), or the whole record (restore). Empty for an
   * upsert whose values aren't valid as a change; then it can't update a record.
   */
  readonly valuesJson: string;
  /** How an upsert finds its record. */
  readonly match?: Match | undefined;
  /** Rejects the write unless the record has one of these versions. */
  readonly ifVersion?: readonly string[] | undefined;
  /** Rejects the write if the record has one of these versions; `*` matches every version. */
  readonly ifNotVersion?: readonly string[] | undefined;
  /** Rejects the write unless the site still has the head that the writer read (`headVersion`). In an atomic batch, only the first intent has it. */
  readonly ifHead?: string | undefined;
  /** Rejects the write if the epoch of the site is not the epoch that the writer read: the site was restored or removed. */
  readonly ifEpoch?: string | undefined;
  /** Whether an atomic batch is stored without this intent if the intent is rejected. Does not apply if the epoch of the site has changed. */
  readonly isOptional?: boolean | undefined;
  /**
   * The epoch of the system site that the writer read. Rejects the write if the whole database was restored after that, also if the site was never
   * written to and so has no epoch for `ifEpoch`.
   */
  readonly ifSystemEpoch?: string | undefined;
  /** Rejects the write if the key or the record of a site has changed since the writer was authorized, so that the writer is authorized again. */
  readonly authorizedBy?: Authorization | undefined;
  readonly actor: string;
  /** The ID of the run of a command or a console action. A batch request and an undo get theirs in the transaction (`AtomicCommitOptions.run`). */
  readonly run?: string | undefined;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
  readonly idempotency?: Idempotency | undefined;
}

/**
 * How an upsert finds its record: by a value of a field. The writer has looked up which records have the value, as of a revision. The transaction brings
 * this up to date with the changes since (store/writes/present-matches.ts). After a restore, `revision` can't be compared, so the intent also needs
 * `ifSystemEpoch`, `ifEpoch` or `authorizedBy`.
 */
export interface Match {
  /** The member names that lead to the field, such as `Address` and `Town`. */
  readonly keys: readonly string[];
  /** Not empty. */
  readonly value: string;
  /** The revision of the site as of which the writer has found the records. It may know later changes too. */
  readonly revision: number;
  readonly found: FoundRecords;
  /** All values of the new record if no record has the value; absent if these are `valuesJson`. Empty if no record can be created. */
  readonly newJson?: string | undefined;
}

/** The records that have one text in a field. */
export interface FoundRecords {
  /** Their IDs, at most `maxFoundIds`. */
  readonly ids: readonly number[];
  /** The number of all of them. */
  readonly count: number;
}

/** Maximum IDs of `FoundRecords`. */
export const maxFoundIds = 6;

/** The authorization of a write. */
interface Authorization {
  /** ID of the API key. */
  readonly keyId: number;
  /** ID of the host's site, if the key has selected the sandbox of that site. Otherwise the host's site is the site of the write. */
  readonly hostSite?: number | undefined;
  /** The revision of the system site as of which the key and the sites were authorized. */
  readonly revision: number;
  /** The timeline of this revision (`Head.timeline`). On another timeline, the revision may be another change. */
  readonly timeline?: number | undefined;
}

/** Identifies a write that a client may send repeatedly. */
export interface Idempotency {
  /** ID of the API key; of a key that has replaced others by rotation, the ID of the first of them. */
  readonly keyId: number;
  /** The client's `Idempotency-Key`. */
  readonly name: string;
  /** Digest of the request. Requests with different digests are different requests. */
  readonly digest: string;
}

/** The record after an intent, as the response contains it. */
export interface RecordAfterWrite {
  readonly operation: Operation;
  readonly id: number;
  /** The epoch of the site. The version of the record has this epoch and the revision of its last change (`versionOf`). */
  readonly epoch: string;
  readonly revision: number;
  /** The record as JSON text; for a delete, the deleted record. */
  readonly body: string;
}

/** The outcome of an intent that changed its record. `timeline` is that of the database when it was changed (`Head.timeline`). */
interface Done extends RecordAfterWrite {
  readonly kind: "done";
  readonly change: RecordChange;
  readonly timeline?: number | undefined;
}

/** The result of an intent: a change, no change because the record has these values already, the response to an earlier request, or a rejection. */
export type Outcome = Done | (RecordAfterWrite & { readonly kind: "unchanged" | "replayed" }) | RejectedOutcome;

/** The outcome of an intent that was not rejected. */
export type AcceptedOutcome = Exclude<Outcome, RejectedOutcome>;

export interface RejectedOutcome {
  readonly kind: "rejected";
  /**
   * `id-used`: a deleted record had the ID. `id-exists`: a record with the ID exists. `authorization-changed`: the key or the site changed after the
   * authorization. `other-epoch`: the site or the system site has another epoch.
   *
   * Of an upsert: several records have the value (`several-matches`), or an earlier intent of the transaction has taken it from the record, or given it to
   * another (`match-moved`): `found` has these records. Its values aren't valid as a new record (`invalid-create`), or as a change (`invalid-update`).
   * `match-outdated`: too many changes since the writer found the records, or they were pruned. The writer has to look them up again.
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
  /** The revision of the record, if the rejection is about an existing or deleted record. */
  readonly revision?: number | undefined;
}

/** Returns the version of a record or list: the site's epoch, and the revision of the last change. Each state has a version of its own. */
export function versionOf(epoch: string, revision: number): string {
  return `${epoch}.${revision}`;
}

/** Returns the version in parts, so that a response can be written without joining them. */
export function versionParts({ epoch }: { epoch: string }, revision: number): readonly (string | number)[] {
  return [epoch, ".", revision];
}

/** Returns the version of a whole site, from its head; empty for a site without changes, because it may not have an epoch yet. */
export function headVersion({ epoch, revision }: { epoch: string; revision: number }): string {
  return revision === 0 ? "" : versionOf(epoch, revision);
}
