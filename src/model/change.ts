import type { Head } from "./engine.ts";

/** What a change did to its record. */
export type Operation = "create" | "update" | "delete";

/** A change as the site's records are made of it. */
export interface RecordChange {
  /** Counts from 1 per site, without a gap. */
  readonly revision: number;
  /** The resource's name, such as `order-status`. */
  readonly resource: string;
  readonly id: number;
  readonly operation: Operation;
  /** The record after the change as JSON text; for a delete, the record that was deleted. */
  readonly body: string;
}

/** An entry of a site's journal: one numbered change to one record. */
export interface Change extends RecordChange {
  /** Milliseconds since 1970 (UTC); never less than in the entry before. Entries of older versions of the program have the time of the clock. */
  readonly at: number;
  /** Who made the change: the prefix of an API key, or `operator:` and a name. */
  readonly actor: string;
}

/** A change with all that the journal has of it. */
export interface JournalEntry extends Change {
  /** The ID that all changes of one command or one action in the console share; null for a request. */
  readonly run: string | null;
  /**
   * The record before an update as JSON text. Null for a create; for a delete, `body` has it. Null as well in entries that an older
   * version of the program wrote.
   */
  readonly before: string | null;
}

/** Entries of a site's journal, read in one transaction. */
export interface JournalPage {
  /** The end of the journal: its last revision, and the epoch of the history. */
  readonly head: Head;
  /** The revision before the first entry that the journal still has; 0 if none was pruned. */
  readonly floor: number;
  readonly entries: readonly JournalEntry[];
}

/** The actor of changes for which no operator is named. */
export const operatorActor = "operator";

/** A change that a client wants to make to one record, checked as far as that is possible without the stored record. */
export interface Intent {
  readonly site: number;
  readonly resource: string;
  /**
   * `create` assigns the next ID, or `id` if that is given and was never used (import).
   * `restore` stores `text` under `id`, whether the record exists or was deleted. It is journaled as an update or a create.
   */
  readonly operation: Operation | "restore";
  readonly id?: number | undefined;
  /** JSON text as `JSON.stringify` writes it: of all values (create), of those to change (update), of the whole record (restore). */
  readonly text: string;
  /** The write is refused unless the record has one of these versions. */
  readonly ifVersion?: readonly string[] | undefined;
  /** The write is refused if the record has one of these versions; `*` stands for every version. */
  readonly ifNotVersion?: readonly string[] | undefined;
  /**
   * The write is refused unless the site is still at the version that the writer read (`headVersion`). In an atomic batch, only the first
   * intent has it.
   */
  readonly ifHead?: string | undefined;
  /** The write is refused if the site has another history than the writer read: it was restored or removed. */
  readonly ifEpoch?: string | undefined;
  /** The write is refused unless the record is still found as the writer found it. */
  readonly ifFound?: FoundBy | undefined;
  /** Whether an atomic batch is stored without this intent when it is refused; not if the site has another history. */
  readonly isOptional?: boolean | undefined;
  /**
   * The epoch of the system site that the writer read. The write is refused if the whole database was restored since; unlike `ifEpoch`, also
   * where the site has no history yet.
   */
  readonly ifSystemEpoch?: string | undefined;
  /** The write is refused if the key or the record of the site has changed since they were checked, so that both have to be checked again. */
  readonly admitted?: Admitted | undefined;
  readonly actor: string;
  /** The ID that all changes of one command share. */
  readonly run?: string | undefined;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
  readonly idempotency?: Idempotency | undefined;
}

/**
 * How a writer found the record to write: by a value of a field, which the record of an update has and no other one, or of a create, no record at
 * all. Changes since then are taken into account when the intent is decided. A refusal because of them says that the writer has to look again.
 * Revisions of another history mean nothing: `ifSystemEpoch`, `ifEpoch` or `admitted` has to refuse the write after a restore.
 */
export interface FoundBy {
  /** The names that lead to the field, such as `Address` and `Town`. */
  readonly keys: readonly string[];
  readonly value: string;
  /** The revision of the site as of which the writer looked. */
  readonly revision: number;
}

/** The check that let a client write. */
interface Admitted {
  /** ID of the API key. */
  readonly keyId: number;
  /** The revision of the system site as of which the key and the site were checked. */
  readonly revision: number;
}

/** Identifies a request that is sent again. */
export interface Idempotency {
  /** ID of the API key. */
  readonly keyId: number;
  /** The client's `Idempotency-Key`. */
  readonly name: string;
  /** Of the request; requests with different digests are different requests. */
  readonly digest: string;
}

/** The record after an intent, as the response has it. */
export interface WriteResult {
  readonly operation: Operation;
  readonly id: number;
  /** The version of the record is its site's epoch with the revision of its last change (`versionOf`). */
  readonly epoch: string;
  readonly revision: number;
  /** The record as JSON text; for a delete, the record that was deleted. */
  readonly body: string;
}

/** A change that was made, and the timeline on which (`Head.timeline`). */
interface Done extends WriteResult {
  readonly kind: "done";
  readonly change: RecordChange;
  readonly timeline?: number | undefined;
}

/** The result of an intent. */
export type Outcome = Done | (WriteResult & { readonly kind: "unchanged" | "replayed" }) | Refused;

export interface Refused {
  readonly kind: "refused";
  /** `id-used`: by a deleted record; `id-given`: to another record; `found-otherwise`: by now, or nobody can say, see `FoundBy`. */
  readonly why:
    | "not-found"
    | "precondition-failed"
    | "idempotency-key-reused"
    | "id-used"
    | "id-given"
    | "found-otherwise"
    | "key-changed"
    | "other-history";
}

/** Identifies a state of a record or list among all its states: the site's epoch and the revision of its last change. */
export function versionOf(epoch: string, revision: number): string {
  return `${epoch}.${revision}`;
}

/** The same in parts, which need not be joined to be sent. */
export function versionParts({ epoch }: { epoch: string }, revision: number): readonly (string | number)[] {
  return [epoch, ".", revision];
}

/** The same for a whole site, by its head; empty for a site without changes, which has no epoch yet. */
export function headVersion({ epoch, revision }: { epoch: string; revision: number }): string {
  return revision === 0 ? "" : versionOf(epoch, revision);
}
