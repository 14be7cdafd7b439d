// The interface to a database, which both engines implement (store/sqlite, store/postgres), and the types of its calls. All other code
// reaches the database only through it.
//
// `Engine` has the reads and writes of requests, and extends five interfaces:
//
//   `EngineCommits`                        Commits of intents.
//   `EngineMaintenance`                    Operations of commands, on a whole site or on all data.
//   `EngineMonitoring`                     Notifications of commits, and the state of the database.
//   `WebhookStore` (webhooks.ts)           The states, secrets and delivery attempts of webhooks.
//   `CredentialStore` (credentials.ts)     The sign-in links and sessions of operators.
//
// The methods of an engine do not use `this`, so that code and tests can wrap it: `{ ...engine, commit }`. A wrapper through which the
// records of the system site are read must share the cache of its engine (system/read-system-records.ts).

import type { Amend, RecordedRestriction } from "./amend.ts";
import type { Change, Idempotency, Intent, JournalPage, Outcome, RejectedOutcome } from "./change.ts";
import type { CredentialStore } from "./credentials.ts";
import type { Head } from "./head.ts";
import type { RecordKey } from "./record-key.ts";
import type { WebhookStore } from "./webhooks.ts";

/** A stored record. */
export interface RecordRow {
  readonly resource: string;
  readonly id: number;
  readonly revision: number;
  /** The record as JSON text; null if it was deleted. */
  readonly body: string | null;
}

/** The number of records of a resource, and the revision of the last change to any of them. */
export interface RecordCount {
  readonly count: number;
  readonly revision: number;
}

/** By the resource's name. A resource without records may be missing. */
export type RecordCounts = Readonly<Record<string, RecordCount>>;

/** Which rows a search reads: the rows with the ID `id`, if it is given, and the rows whose JSON contains `text`. */
export interface RowSearch {
  readonly id: number | undefined;
  readonly text: string;
}

/** The rows of several sites. */
export interface RowsOfSites {
  /** The number of sites that were read. */
  readonly siteCount: number;
  readonly rows: readonly (RecordRow & { readonly site: number })[];
}

export interface SinceOptions {
  readonly epoch?: string;
  readonly timeline?: number | undefined;
  /** Maximum number of changes. Default: all. */
  readonly limit?: number;
  /** The last head of the site that the caller knows. */
  readonly requiredHead?: Head;
}

/** The head and the record counts of a site at the moment of a read. */
export interface SiteReadResult {
  readonly head: Head;
  readonly counts: RecordCounts;
}

/** Rows of a site, as of the head, and the last ID that each resource has given to a record. */
export interface SiteRows extends SiteReadResult {
  /** By the resource's name. A resource that never had a record is missing. */
  readonly lastIds: Readonly<Record<string, number>>;
  readonly rows: readonly RecordRow[];
}

/** The rows of a site in chunks, grouped by resource and in ID order. Use each chunk before you request the next one. */
export interface SiteContents extends SiteReadResult {
  /** The last entry of the journal, if the head has a timeline; undefined if the entry is not stored any more. */
  readonly last?: Change | undefined;
  readonly rowChunks: Iterable<readonly RecordRow[]> | AsyncIterable<readonly RecordRow[]>;
}

/** Called with the outcomes of a batch, before the next batch is decided. */
export type OnOutcomes = (outcomes: readonly Outcome[]) => void | Promise<void>;

export interface CommitOptions {
  /** If an intent that is not optional is rejected, nothing is stored, and the outcomes up to the rejected intent are returned. Default: false. */
  readonly atomic?: boolean;
}

/** How several batches are committed together. */
export interface AtomicCommitOptions {
  /**
   * Makes all changes one run, whatever run the intents have: `id` is random text, and `size` is the number of all intents. The first change decides
   * the ID of the run (`toRunId`). All intents belong to one site, and none may name a record that the run itself has created (`not-found`).
   */
  readonly run?: { readonly id: string; readonly size: number } | undefined;
  /** The idempotency key of the whole transaction. `at` is in milliseconds since 1970; `replayData` is a text that is stored for a replay. */
  readonly idempotency?:
    | (Idempotency & { readonly site: number; readonly at: number; readonly replayData: string })
    | undefined;
}

/**
 * The result of a transaction of several batches:
 * - `committed`: everything that was not rejected is stored. `run` is the ID of the run; null if nothing changed, or if none was requested.
 * - `aborted`: an intent was rejected, so nothing is stored. The last outcomes end with it.
 * - `replayed`: an earlier transaction with the same idempotency key and digest was committed. Nothing is decided.
 * - `idempotency-key-reused`: another request had the idempotency key. Nothing is decided.
 */
export type AtomicCommitResult =
  | { readonly kind: "committed"; readonly run: string | null }
  | { readonly kind: "aborted" | "idempotency-key-reused" }
  | { readonly kind: "replayed"; readonly stored: StoredBatch };

/** The response that is stored for the idempotency key of a transaction. The changes are in the journal, under `run`. */
export interface StoredBatch {
  readonly run: string | null;
  /** The number of intents. */
  readonly size: number;
  /** The intents that changed nothing, in order. */
  readonly notDone: readonly NotDone[];
  /** As given in `AtomicCommitOptions`. */
  readonly replayData: string;
}

/** An intent that changed nothing: its index, counted from 0, and its outcome. */
export type NotDone = { readonly index: number } & (
  | { readonly kind: "unchanged"; readonly id: number; readonly revision: number }
  | RejectedOutcome
);

/**
 * The methods of an engine that commit intents. A wrapper that changes or checks intents makes an object of this type, so that the type
 * check finds missing methods. (`replaceAllData` has intents too: its `amend` decides them.)
 */
export interface EngineCommits {
  /**
   * Decides the intents in order and stores the results, with journal entries and responses for idempotency keys, in one transaction.
   * When the promise resolves, all of this is on durable storage. After a commit of unknown outcome, an intent with an idempotency key can safely be
   * committed again.
   */
  commit(intents: readonly Intent[], options?: CommitOptions): Promise<readonly Outcome[]>;

  /**
   * Commits batches as `commit` does, all batches in one transaction, and for one site. If an intent that is not optional is rejected, nothing is
   * stored. Other writers wait until the last batch was decided.
   * @param batches the engine may request a batch before the outcomes of the previous batch are known. Without `options.run`, no other intent may give
   *   a record the value of an upsert, or take it away
   * @param onOutcomes gets the outcomes of each batch, in order. The outcomes of the last batch end with the rejected intent. If it throws, nothing is
   *   stored; but with `options.run`, the changes may be stored already
   */
  commitAtomically(
    batches: Iterable<readonly Intent[]>,
    onOutcomes: OnOutcomes,
    options?: AtomicCommitOptions,
  ): Promise<AtomicCommitResult>;
}

/**
 * The interface to a database. Code outside `store/` does not depend on the engine.
 *
 * Every method that returns a promise rejects with ProblemError `unavailable` if the database cannot be reached, is full, or does not respond in time. Then a read, and a write
 * that the database rejected, had no effect. If a commit was sent and its result did not arrive (lost connection, timeout, ended writer, replaced
 * file), the outcome is unknown: the whole commit was done, or no part of it.
 */
export interface Engine extends EngineCommits, EngineMaintenance, EngineMonitoring, WebhookStore, CredentialStore {
  /** Whether reads take the time of this thread. A frequent caller then pauses longer. */
  readonly readsOnThisThread: boolean;

  /** Reads the present heads of `sites`, in the same order. A site that was never written to is at revision 0. */
  readHeads(sites: readonly number[]): Promise<readonly Head[]>;

  /**
   * Returns true only if nothing was committed since the last call. Each call starts a new comparison, so only one caller may use this method. Only
   * an engine that can tell at almost no cost has it.
   * @throws ProblemError `unavailable` if the database that was opened has been replaced by another file
   */
  checkUnchanged?(): boolean;

  /**
   * Opens the connections and starts the threads that the first requests need. A server calls this before it listens, because connecting takes time,
   * and because the runtime ends the process if it has to start a thread while no file descriptor is free.
   */
  openConnections(): Promise<void>;

  /**
   * Reads one record, and the head of the system site at the same moment. The row is undefined if the ID was never used.
   * @param requiredHead the last head of the site that the caller knows. If the database is behind it in the same epoch, `unavailable` is thrown
   */
  readRecord(
    site: number,
    resource: string,
    id: number,
    requiredHead?: Head,
  ): Promise<SiteReadResult & { readonly row: RecordRow | undefined; readonly system: Head }>;

  /**
   * Reads a page of the records of a resource, without deleted records, in ID order. The time grows with `limit` and `offset`.
   * @param requiredHead as for `readRecord`
   */
  readPage(
    site: number,
    resource: string,
    page: { readonly limit: number; readonly offset: number },
    requiredHead?: Head,
  ): Promise<SiteReadResult & { readonly rows: readonly RecordRow[] }>;

  /**
   * Reads the first `limit` rows of the records of a resource with an ID above `after`, in ID order, deleted records included. The time grows with
   * `limit` only.
   */
  readRowsAfter(
    site: number,
    resource: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<SiteReadResult & { readonly rows: readonly RecordRow[] }>;

  /**
   * Reads the rows with the given keys, deleted records included, and the state of the site at the same moment. The rows are in no particular order,
   * and an ID that was never used has none. The time grows with the number of keys only.
   * @param keys at most 500
   */
  readRows(site: number, keys: readonly RecordKey[]): Promise<SiteRows>;

  /**
   * Reads a whole site in one transaction, which ends when `use` has ended. If the connection is lost, the engine may repeat the read and call `use`
   * a second time.
   * @param requiredHead as for `readRecord`
   */
  readSite<T>(site: number, use: (contents: SiteContents) => Promise<T>, requiredHead?: Head): Promise<T>;

  /**
   * Searches the first of `sites`, as many as one query reads in a short time. Deleted records are left out. The rows are grouped by site and resource, and
   * in ID order. `siteCount` is 0 if the first site is large, or if too many of its rows match: use `readSite` for it. Only an engine whose `readSite` takes
   * several round trips has this method.
   * @param sites IDs in ascending order
   */
  readMatchingRows?(sites: readonly number[], search: RowSearch): Promise<RowsOfSites>;

  /**
   * Returns the changes after `revision`, in order; undefined if some were pruned.
   * @param options.epoch if the site has another epoch, the result is undefined; in the same way for `timeline`
   * @param options.requiredHead as for `readRecord`
   */
  readChangesSince(site: number, revision: number, options?: SinceOptions): Promise<readonly Change[] | undefined>;

  /** Returns at most `limit` entries of a site's journal after `revision`, in order. If some were pruned, it begins with the oldest entry. */
  readJournalPage(site: number, revision: number, limit: number): Promise<JournalPage>;

  /**
   * Deletes the oldest entries of a site's journal, through the revision `through`: at most `most` entries, and never the last entry of the journal.
   * Saves in the same transaction where the journal then begins. @returns whether there are more entries to delete
   */
  pruneJournal(site: number, through: number, most: number): Promise<boolean>;

  /**
   * Gives a site a new epoch because commits of `epoch` were lost, unless the site has another epoch already. Returns the head after this. Does not
   * wait for a standby. Only an engine with timelines has this method.
   */
  replaceEpoch?(site: number, epoch: string): Promise<Head>;

  /**
   * Checks that writes can be committed now, by committing a write that changes nothing. It fails for the same reasons as other writes: a full disk,
   * a lock, a database that is read-only or a standby.
   */
  probeWrite(): Promise<void>;

  /**
   * Deletes responses for idempotency keys, of any site, that were stored at `before` (milliseconds since 1970) or earlier. Uses a transaction of its
   * own, and is not part of the journal.
   * @param most maximum number of responses to delete
   * @returns whether there may be more. The caller then pauses, so that others can write, and calls again
   */
  deleteExpiredResponses(before: number, most: number): Promise<boolean>;

  /** Saves when API keys were last used: milliseconds since 1970, by key ID. A crash may lose the times. Not part of the journal. */
  saveKeyUses(uses: ReadonlyMap<number, number>): Promise<void>;

  /** Reads when each API key was last used: milliseconds since 1970, by key ID. */
  readLastKeyUses(): Promise<ReadonlyMap<number, number>>;

  close(): Promise<void>;
}

/** Operations of commands on a whole site or on all data. Part of `Engine`, with the same errors. */
interface EngineMaintenance {
  /**
   * Deletes all data of a deleted site but its ID, in chunks that delay others no longer than a commit does. Once the first chunk is deleted, the
   * site is empty and rejects writes. If the call is interrupted, any process can repeat it. If the site's record is not deleted, because a restore
   * has brought it back, the call stops or does nothing.
   */
  dropSite(site: number): Promise<void>;

  /** Reads the sites whose record in the system site is deleted, but whose rows `dropSite` has not deleted completely. */
  readSitesToDrop(): Promise<readonly number[]>;

  /** Reads the rows of all tables that belong in a backup (`tablesWith` in store/database/tables.ts), or those of `site`, as of one moment. */
  dump(site?: number): AsyncIterable<DumpedRow> | Iterable<DumpedRow>;

  /**
   * Replaces all data by `rows`, in one swap, and gives every site a new epoch. Other processes read and write until the swap, which delays them
   * briefly. If `rows` throws, nothing is changed.
   * @param save gets the replaced rows after the swap. If an earlier call was killed after its swap, `save` is called before the new swap too, with
   *   the rows that the earlier call had replaced. If `save` throws, its error is thrown, and the replaced rows stay in the database for the next call
   *
   * What was recorded about restrictions isn't replaced: `rows` adds to it, and for each limit the later decision counts.
   * @param amend decides at the swap which records of the system site in `rows` are changed. It may be called more than once
   * @returns the heads of the sites that were replaced
   */
  replaceAllData(
    rows: AsyncIterable<DumpedRow>,
    save?: SaveReplacedRows,
    amend?: Amend,
  ): Promise<ReadonlyMap<number, Head>>;

  /**
   * Stores `rows` as the data of a site that was never written to, in chunks that delay others no longer than a commit does. The rows are those of
   * `dump(site)`, and the row of `sites` comes last. Until it is stored, the site rejects writes. With it, the site gets a new epoch.
   * @throws ProblemError `conflict` if the site has been written to or removed; `bad-request` for a row that cannot be stored; or the error of
   *   `rows`. Then `dropSite` can delete the rows that were stored
   */
  importSiteRows(site: number, rows: AsyncIterable<DumpedRow>): Promise<void>;

  /** Reads what was last decided about each limit of a key, operator, webhook or site. */
  readRestrictions(): Promise<readonly RecordedRestriction[]>;

  /** Gives every site a new epoch, so that versions from before are not accepted. Returns the number of sites, not counting the system site. */
  replaceEpochs(): Promise<number>;

  /**
   * Checks the stored data. Returns its inconsistencies as sentences: at most 1,000 about rows, and then one with the number of the others.
   * @param onRow called for each row that is read
   */
  findInconsistencies(onRow?: () => void): Promise<readonly string[]>;
}

// Monitoring of a database: its commits, its ID, its last backup, and its usage of connections and files.

/** The connections or the files that a database uses at this moment. Each engine has its own members. */
export interface EngineUsage {
  /** Connections to a database server: the number in use, the number of calls that wait for a connection, and the maximum. */
  readonly connections?: { readonly inUse: number; readonly waiting: number; readonly max: number };
  /** Bytes of the write-ahead log, if it is a file on this machine. */
  readonly logBytes?: number;
}

/** A subscription to the commits of a database. */
export interface CommitSubscription {
  /** Whether a commit can happen without a call. The caller must then also read the heads from time to time. */
  readonly mayMissCommits: boolean;
  /** Ends the subscription: no further calls. */
  stop(): void;
}

/** @param sites the sites that the commit changed, and perhaps others; undefined if it may have changed any site */
export type OnCommit = (sites: readonly number[] | undefined) => void;

interface EngineMonitoring {
  /** Whether opening the database created its tables. */
  readonly isNew?: boolean;

  /**
   * Calls `onCommit` soon after any process has committed, usually within 25 ms. The call is a hint: it may be late or repeated, or there may be no
   * change. A subscription has a cost while it is open, also if nothing is committed.
   */
  subscribeToCommits(onCommit: OnCommit): CommitSubscription;

  /** Reads the random ID of this database. A dump does not contain it, so a database that is restored or copied elsewhere has another ID. */
  readDatabaseId(): Promise<string>;

  /** Saves the time as of which a backup of all data was made, in milliseconds since 1970. Backups, restores and copies leave this time out. */
  saveBackupTime(at: number): Promise<void>;

  /** Reads the time as of which the last backup was made, in milliseconds since 1970; undefined if no time was saved. */
  readLastBackupTime(): Promise<number | undefined>;

  /** Returns what the database uses now. Undefined for an engine that does not know it. */
  usage?(): EngineUsage;
}

// All data, as rows.

/** A line of a dump: the name of a table, and one of its rows by column. */
export interface DumpedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, string | number | null>>;
}

/** Saves all rows that `replaceAllData` has replaced, in the order of a dump. */
export type SaveReplacedRows = (rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>) => Promise<void>;
