import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Amend } from "./amend.ts";
import type { Change, Intent, JournalPage, Outcome } from "./change.ts";
import type { WebhookStore } from "./webhooks.ts";

/** The end of a site's journal. */
export interface Head {
  /** The number of the last change; 0 before the first. */
  readonly revision: number;
  /** Identifies the site's history. After `restore` it is another one, and equal revisions then mean nothing. */
  readonly epoch: string;
  /**
   * Grows whenever another machine has taken over, which may lack the last changes: equal revisions may then be different changes. Only
   * engines have it where that can happen.
   */
  readonly timeline?: number | undefined;
}

/** A record as it is stored. */
export interface RecordRow {
  readonly resource: string;
  readonly id: number;
  readonly revision: number;
  /** The record as JSON text; null when it was deleted. */
  readonly body: string | null;
}

/** How many records of a resource there are, and the revision of the last change to any of them. */
export interface RecordCount {
  readonly count: number;
  readonly revision: number;
}

/** By the resource's name; none for a resource without records. */
export type RecordCounts = Readonly<Record<string, RecordCount>>;

export interface SinceOptions {
  readonly epoch?: string;
  readonly timeline?: number | undefined;
  readonly limit?: number;
  /** The last head of the site that the caller knows. */
  readonly minHead?: Head;
}

/** The moment to which what was read of a site belongs. */
interface SiteRead {
  readonly head: Head;
  /** Undefined when they are not known. */
  readonly counts: RecordCounts | undefined;
}

/** A site's rows, those of a resource together and in ID order. Use each portion before you request the next one. */
export interface SiteContents extends SiteRead {
  /** The last entry of its journal, where the head has a timeline; undefined if it was deleted. */
  readonly last?: Change | undefined;
  readonly portions: Iterable<readonly RecordRow[]> | AsyncIterable<readonly RecordRow[]>;
}

/**
 * The port to a database. Nothing outside `store/` depends on which one it is.
 *
 * Every method throws Refusal `unavailable` when the database cannot be reached, is full, or does not respond in time. A read or a refused
 * write had no effect. If a commit was sent and its result did not arrive (lost connection, timeout, ended writer, replaced file), its
 * outcome is unknown: all of it was done, or nothing.
 */
export interface Engine extends EngineMaintenance, WatchedEngine, WebhookStore, CredentialStore {
  /** The heads of `sites` now, in their order; a site that was never written to is at revision 0. */
  heads(sites: readonly number[]): MaybePromise<readonly Head[]>;

  /**
   * True only if nothing was committed since the last call. Only engines for which this costs almost nothing have
   * it. @throws Refusal `unavailable` when the database is no longer the one that was opened
   */
  unchanged?(): boolean;

  /**
   * Opens what the first requests would open otherwise. A server calls this before it listens: connections take time, and when no file
   * descriptor is free, the runtime ends the process instead of starting a thread.
   */
  openForRequests(): Promise<void>;

  /**
   * Reads one record, and the head of the system site at the same moment. The row is undefined when the ID was never used.
   * @param minHead the last head of the site that the caller knows: `unavailable` when the database is behind that in the same history
   */
  readRecord(
    site: number,
    resource: string,
    id: number,
    minHead?: Head,
  ): MaybePromise<SiteRead & { readonly row: RecordRow | undefined; readonly system: Head }>;

  /**
   * Reads a page of the records of a resource that are not deleted, in ID order. Takes time that grows with `limit` and `offset`.
   * @param minHead as for `readRecord`
   */
  readPage(
    site: number,
    resource: string,
    page: { readonly limit: number; readonly offset: number },
    minHead?: Head,
  ): MaybePromise<SiteRead & { readonly rows: readonly RecordRow[] }>;

  /**
   * Reads a whole site in one transaction, which ends when `use` has ended. If a connection is lost, the engine may start again and call
   * `use` once more.
   * @param minHead as for `readRecord`
   */
  readSite<T>(site: number, use: (contents: SiteContents) => MaybePromise<T>, minHead?: Head): MaybePromise<T>;

  /**
   * Stores the record counts of a site that is still at `head`. Called after a whole site was read whose counts were unknown. Not part of
   * the journal.
   */
  noteCounts(site: number, head: Head, counts: RecordCounts): Promise<void>;

  /**
   * The changes after `revision` in order; undefined when some of them were pruned away.
   * @param options.epoch undefined comes back when the site's history is another one; `timeline`, when another machine has taken over
   * @param options.minHead as for `readRecord`
   */
  since(site: number, revision: number, options?: SinceOptions): MaybePromise<readonly Change[] | undefined>;

  /** At most `limit` entries of a site's journal after `revision`, in order. If those that follow it were pruned, the first that there are. */
  journal(site: number, revision: number, limit: number): MaybePromise<JournalPage>;

  /**
   * Deletes entries from the beginning of a site's journal up to the revision `through`, at most `most` of them and never the last one, in
   * one transaction, and stores where the journal begins then. @returns whether there are more to delete
   */
  prune(site: number, through: number, most: number): Promise<boolean>;

  /**
   * Decides the intents in order and stores the results, with journal entries and responses for idempotency keys, in one transaction.
   * When it returns, all of that is on durable storage. An intent with an idempotency key may be committed again after
   * a commit of unknown outcome.
   * @param atomic when one intent that is not optional is refused, nothing is stored and the outcomes up to the refused one are returned
   */
  commit(intents: readonly Intent[], atomic?: boolean): Promise<readonly Outcome[]>;

  /**
   * Commits batches as `commit` does, all of them in one transaction that no other writes interrupt: when one intent that is not optional is
   * refused, nothing is stored. Other writers wait until the last batch was decided.
   * @param batches a batch may be requested before the outcomes of the one before are known
   * @param onOutcomes gets the outcomes of each batch in order, those of the last up to the refused one
   */
  commitTogether(
    batches: Iterable<readonly Intent[]>,
    onOutcomes: (outcomes: readonly Outcome[]) => MaybePromise<void>,
  ): Promise<void>;

  /**
   * Gives a site a new history because commits of the history `epoch` were lost, unless it has another one already. Returns its head then.
   * Waits for no standby. Only engines have it whose heads have a timeline.
   */
  renewSite?(site: number, epoch: string): Promise<Head>;

  /**
   * Checks that a write can be committed now, by committing one that changes nothing. Whatever prevents other writes
   * prevents this one: a full disk, a lock, a database that is read-only or a standby.
   */
  tryWrite(): Promise<void>;

  /**
   * Deletes some of the responses for idempotency keys that were stored at `before` (milliseconds since 1970) or earlier,
   * of any site, in a separate transaction that is not part of the journal.
   * @param most how many at most
   * @returns whether there may be more; then the caller pauses, so that others may write, and calls again
   */
  deleteExpiredResponses(before: number, most: number): Promise<boolean>;

  /** Stores when keys were last used (milliseconds since 1970 by key ID). May be lost in a crash; not part of the journal. */
  noteKeyUse(uses: ReadonlyMap<number, number>): Promise<void>;

  /** When each key was last used, by key ID. */
  keyUses(): MaybePromise<ReadonlyMap<number, number>>;

  close(): Promise<void>;
}

/** What commands do with a whole site or with everything that is stored. Part of `Engine`, with the same errors. */
export interface EngineMaintenance {
  /**
   * Removes everything of a site but its number, in portions that delay others no longer than a commit does. From the
   * first portion on the site is empty and writes to it are refused. If it is interrupted, any process may call it again. It
   * stops, or does nothing, when the site's record is not deleted: a restore has brought it back.
   */
  dropSite(site: number): Promise<void>;

  /** The sites whose record was deleted from the system site and that `dropSite` has not removed completely. */
  undroppedSites(): MaybePromise<readonly number[]>;

  /** All rows of all tables, or those of `site`, as of one moment. */
  dump(site?: number): AsyncIterable<DumpedRow> | Iterable<DumpedRow>;

  /**
   * Replaces everything that is stored by `rows`, in one moment, and starts new epochs. Others read and write until that
   * moment, which delays them briefly. When `rows` throws, nothing is changed.
   * @param save gets all that was stored at that moment, after it. Rows that an earlier refill had replaced before it was killed
   * come first, in a separate call. When `save` throws, so does this, and the replaced rows stay in the database for the next refill
   * @param amend decides at that moment what is changed in the system site of `rows`. It may be asked more than once
   * @returns the heads of the sites at that moment
   */
  refill(rows: AsyncIterable<DumpedRow>, save?: SaveReplaced, amend?: Amend): Promise<ReadonlyMap<number, Head>>;

  /**
   * Stores `rows` as those of a site that was never written to, in portions that delay others no longer than a commit does. They are rows
   * of the tables that `dump(site)` has, and the row of `sites` comes last: only with that, the site has a history, which is a new one.
   * @throws Refusal `conflict` when the site has a history, or was removed meanwhile; `bad-request` for a row that cannot be stored; or
   *   what `rows` throws. Then `dropSite` can remove what was stored
   */
  fillSite(site: number, rows: AsyncIterable<DumpedRow>): Promise<void>;

  /** Gives every site a new history, so that no version of a record from before is accepted. Returns the number of websites. */
  renew(): MaybePromise<number>;

  /** Checks the stored data. Returns what is wrong, in sentences. @param onRow called for each row that is read */
  check(onRow?: () => void): MaybePromise<readonly string[]>;
}

// What operators watch of a database.

/** What a database uses at this moment. Each engine has its own members. */
export interface EngineUsage {
  /** Connections to a database server: in use, the calls that wait for one, and how many there may be. */
  readonly connections?: { readonly inUse: number; readonly waiting: number; readonly max: number };
  /** Bytes of the write-ahead log, when that is a file on this machine. */
  readonly logBytes?: number;
}

/** A watch for commits that is under way. */
export interface CommitWatch {
  /** Whether a commit may be missed. Then the caller also has to look by itself from time to time. */
  readonly mayMiss: boolean;
  /** Ends it: nothing is called any more. */
  stop(): void;
}

/** @param sites that the commit changed, and perhaps others; undefined: it may have been any */
export type OnCommit = (sites: readonly number[] | undefined) => void;

interface WatchedEngine {
  /** Whether the tables were created when this was opened. */
  readonly isNew?: boolean;

  /**
   * Calls `onCommit` soon after any process has committed, usually within 25 ms. This is a hint: it may come late, twice, or without a
   * change. A watch has a cost for as long as it is open, also when nothing is committed.
   */
  watchCommits(onCommit: OnCommit): CommitWatch;

  /**
   * Notes that a backup was made of everything as of `at` (milliseconds since 1970). This is not part of what is stored: a backup, a restore
   * and a copy leave it out.
   */
  noteBackup(at: number): Promise<void>;

  /** As of when the last backup was made; undefined when there is none. */
  lastBackup(): MaybePromise<number | undefined>;

  /** What it uses now. Only engines for servers have it. */
  usage?(): EngineUsage;
}

// Everything that is stored, as rows.

/** A line of a dump: a table's name and one row of it, column by column. */
export interface DumpedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, string | number | null>>;
}

/** Saves all rows that a refill has replaced, in the order of a dump. */
export type SaveReplaced = (rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>) => Promise<void>;

/**
 * A secret that an operator has: a link that signs in once, or the session of a browser. Only its digest is stored, in a table that is in no
 * backup, copy or export.
 */
export interface Credential {
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
  readonly kind: "link" | "session";
  /** ID of the operator. */
  readonly operator: number;
  /** Milliseconds since 1970. From then on, it is as if there were none. */
  readonly expiresAt: number;
}

/** What an engine stores of credentials, outside the journal. Part of `Engine`, with the same errors. */
export interface CredentialStore {
  /**
   * Stores a credential, and deletes those that have expired. Of one operator and kind, the latest `maxCredentials` stay.
   * @param now milliseconds since 1970
   */
  putCredential(credential: Credential, now: number): Promise<void>;

  /** The credential with this digest, also one that has expired; undefined if there is none. */
  credential(digest: string): MaybePromise<Credential | undefined>;

  /** Deletes the credential with this digest and returns it: of several calls, one gets it. */
  takeCredential(digest: string): Promise<Credential | undefined>;

  /** Deletes all credentials of an operator. */
  deleteCredentials(operator: number): Promise<void>;
}

/** Credentials of one kind that an operator may have at the same time. */
export const maxCredentials = 20;
