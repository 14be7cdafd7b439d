// The interface to a database, implemented by both engines (store/sqlite, store/postgres). Nothing else reaches the database.
//
// `Engine` has the reads and writes that requests need, and extends five interfaces:
//
//   `EngineCommits`                        Commits of intents.
//   `EngineMaintenance`                    What commands do to a whole site or to all data.
//   `EngineMonitoring`                     Commit notifications, and the state of the database.
//   `WebhookStore` (webhooks.ts)           The states, secrets and delivery attempts of webhooks.
//   `CredentialStore` (credentials.ts)     The sign-in links and sessions of operators.
//
// An engine's methods don't use `this`, so you can wrap one: `{ ...engine, commit }`. If the records of the system site are read through a wrapper,
// it must share its engine's cache (system/read-system-records.ts).

import type { Amend, RecordedRestriction } from "./amend.ts";
import type { Change, Idempotency, Intent, JournalPage, Outcome, RejectedOutcome } from "./change.ts";
import type { CredentialStore } from "./credentials.ts";
import type { Head } from "./head.ts";
import type { RecordKey } from "./record-key.ts";
import type { WebhookStore } from "./webhooks.ts";

export interface RecordRow {
  readonly resource: string;
  readonly id: number;
  readonly revision: number;
  /** The record as JSON; null if it was deleted. */
  readonly body: string | null;
}

/** How many records of a resource there are, and the revision of the last change to any of them. */
export interface RecordCount {
  readonly count: number;
  readonly revision: number;
}

/** By resource name. A resource without records may be missing. */
export type RecordCounts = Readonly<Record<string, RecordCount>>;

/** What to search for: the rows whose ID is `id`, if given, and those whose JSON contains `text`. */
export interface RowSearch {
  readonly id: number | undefined;
  readonly text: string;
}

/** Rows of several sites. */
export interface RowsOfSites {
  /** The number of sites that were read. */
  readonly siteCount: number;
  readonly rows: readonly (RecordRow & { readonly site: number })[];
}

export interface SinceOptions {
  readonly epoch?: string;
  readonly timeline?: number | undefined;
  /** Maximum number of changes. Default: no limit. */
  readonly limit?: number;
  /** The latest head of the site that the caller knows. */
  readonly requiredHead?: Head;
}

/** The head and record counts of a site, as of one moment. */
export interface SiteReadResult {
  readonly head: Head;
  readonly counts: RecordCounts;
}

/** Rows of a site and the last ID each resource has assigned, as of the head. */
export interface SiteRows extends SiteReadResult {
  /** By resource name. A resource that never had a record is missing. */
  readonly lastIds: Readonly<Record<string, number>>;
  readonly rows: readonly RecordRow[];
}

/** A site's rows in chunks, grouped by resource and in ID order. Use each chunk before you request the next. */
export interface SiteContents extends SiteReadResult {
  /** The last journal entry, if the head has a timeline and the entry is still stored. */
  readonly last?: Change | undefined;
  readonly rowChunks: Iterable<readonly RecordRow[]> | AsyncIterable<readonly RecordRow[]>;
}

/** Called with the outcomes of each batch before the next one is decided. */
export type OnOutcomes = (outcomes: readonly Outcome[]) => void | Promise<void>;

export interface CommitOptions {
  /** All or nothing: if an intent that isn't optional is rejected, nothing is stored, and the outcomes end with the rejected one. Default: false. */
  readonly atomic?: boolean;
}

/** How several batches are committed together. */
export interface AtomicCommitOptions {
  /**
   * Makes all changes one run, overriding the intents' own. `id` is random text, `size` the total number of intents, and the revision of the first
   * change completes the run's ID (`toRunId`). All intents must be for one site, and none may name a record created by the run itself (`not-found`).
   */
  readonly run?: { readonly id: string; readonly size: number } | undefined;
  /** The idempotency key of the whole transaction. `at` is in milliseconds since 1970; `replayData` is stored and handed back on a replay. */
  readonly idempotency?:
    | (Idempotency & { readonly site: number; readonly at: number; readonly replayData: string })
    | undefined;
}

/**
 * - `committed`: everything that wasn't rejected is stored. `run` is null if nothing changed or no run was requested.
 * - `aborted`: an intent was rejected, so nothing is stored. It's the last outcome.
 * - `replayed`: an earlier transaction had the same idempotency key and digest. Nothing was decided.
 * - `idempotency-key-reused`: the idempotency key belongs to a different request. Nothing was decided.
 */
export type AtomicCommitResult =
  | { readonly kind: "committed"; readonly run: string | null }
  | { readonly kind: "aborted" | "idempotency-key-reused" }
  | { readonly kind: "replayed"; readonly stored: StoredBatch };

/** What's stored for the idempotency key of a transaction. The changes themselves are in the journal, under `run`. */
export interface StoredBatch {
  readonly run: string | null;
  /** The number of intents. */
  readonly size: number;
  /** The intents that changed nothing, in order. */
  readonly notDone: readonly NotDone[];
  /** As given in `AtomicCommitOptions`. */
  readonly replayData: string;
}

/** An intent that changed nothing: its index, from 0, and its outcome. */
export type NotDone = { readonly index: number } & (
  | { readonly kind: "unchanged"; readonly id: number; readonly revision: number }
  | RejectedOutcome
);

/**
 * The methods that commit intents. A wrapper that changes or checks intents should build this type, so that the compiler finds missing methods.
 * (`replaceAllData` takes intents too, through `amend`.)
 */
export interface EngineCommits {
  /**
   * Decides the intents in order, and stores the results, journal entries and responses for idempotency keys in one transaction. All of it is on
   * durable storage when the promise resolves. If the outcome is unknown, an intent with an idempotency key can safely be committed again.
   */
  commit(intents: readonly Intent[], options?: CommitOptions): Promise<readonly Outcome[]>;

  /**
   * Commits batches for one site in a single transaction, each like `commit`. If an intent that isn't optional is rejected, nothing is stored. Other
   * writers wait until the last batch is decided.
   * @param batches the engine may request the next batch before it has reported the outcomes of the last. Without `options.run`, if there's an
   * upsert, no other intent may give its value to a record or take it away
   * @param onOutcomes gets the outcomes of each batch, in order, up to the rejected intent. If it throws, nothing is stored, except that with
   * `options.run`, the changes may already be
   */
  commitAtomically(
    batches: Iterable<readonly Intent[]>,
    onOutcomes: OnOutcomes,
    options?: AtomicCommitOptions,
  ): Promise<AtomicCommitResult>;
}

/**
 * The interface to a database. Code outside `store/` doesn't depend on which engine it is.
 *
 * Every promise rejects with ProblemError `unavailable` if the database is unreachable, full or too slow. Reads, and writes that the database
 * refused, have then had no effect. If a commit was sent but its result never arrived (lost connection, timeout, dead writer, replaced file), the
 * outcome is unknown: all of it was committed, or none.
 */
export interface Engine extends EngineCommits, EngineMaintenance, EngineMonitoring, WebhookStore, CredentialStore {
  /** Who makes the changes, as in the journal (system/with-actor.ts). Undefined for a server's own work. */
  readonly actor?: string;

  /** Whether reads block this thread. If so, frequent callers pause longer. */
  readonly readsOnThisThread: boolean;

  /** Reads the current heads of `sites`, in the same order. A site that was never written to is at revision 0. */
  readHeads(sites: readonly number[]): Promise<readonly Head[]>;

  /**
   * Whether nothing was committed since the last call. Each call restarts the comparison, so there must be only one caller. Engines only have this
   * method if it costs next to nothing.
   * @throws ProblemError `unavailable` if the database file was replaced by another
   */
  checkUnchanged?(): boolean;

  /**
   * Opens the connections and starts the threads for the first requests. Call it before listening: connecting takes time, and if the runtime has to
   * start a thread when no file descriptor is free, it ends the process.
   */
  openConnections(): Promise<void>;

  /**
   * Reads a record, and the system site's head at the same moment. The row is undefined if the ID was never used.
   * @param requiredHead the latest head of the site that the caller knows. Throws `unavailable` if the database is behind it in the same epoch
   */
  readRecord(
    site: number,
    resource: string,
    id: number,
    requiredHead?: Head,
  ): Promise<SiteReadResult & { readonly row: RecordRow | undefined; readonly system: Head }>;

  /**
   * Reads a page of a resource's records in ID order, without deleted ones. Takes time proportional to `limit` plus `offset`.
   * @param requiredHead as for `readRecord`
   */
  readPage(
    site: number,
    resource: string,
    page: { readonly limit: number; readonly offset: number },
    requiredHead?: Head,
  ): Promise<SiteReadResult & { readonly rows: readonly RecordRow[] }>;

  /** Reads up to `limit` rows of a resource with IDs above `after`, in ID order, including deleted records. Takes time proportional to `limit`. */
  readRowsAfter(
    site: number,
    resource: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<SiteReadResult & { readonly rows: readonly RecordRow[] }>;

  /**
   * Reads the rows with these keys, including deleted records, and the state of the site at the same moment. Rows come in no particular order; IDs
   * that were never used have none. Takes time proportional to the number of keys.
   * @param keys at most 500
   */
  readRows(site: number, keys: readonly RecordKey[]): Promise<SiteRows>;

  /**
   * Reads a whole site in one transaction that ends when `use` has finished. If the connection is lost, the engine may start over and call `use`
   * again.
   * @param requiredHead as for `readRecord`
   */
  readSite<T>(site: number, use: (contents: SiteContents) => Promise<T>, requiredHead?: Head): Promise<T>;

  /**
   * Searches as many of `sites`, from the first, as one query can read quickly. Leaves out deleted records. Rows are grouped by site and resource, in
   * ID order. `siteCount` is 0 if the first site is too large or has too many matches; use `readSite` for that one. Only engines whose `readSite`
   * takes several round trips have this method.
   * @param sites IDs in ascending order
   */
  readMatchingRows?(sites: readonly number[], search: RowSearch): Promise<RowsOfSites>;

  /**
   * Returns the changes after `revision`, in order; undefined if some were pruned.
   * @param options.epoch if the site has another epoch, the result is undefined. The same goes for `timeline`
   * @param options.requiredHead as for `readRecord`
   */
  readChangesSince(site: number, revision: number, options?: SinceOptions): Promise<readonly Change[] | undefined>;

  /** Reads up to `limit` journal entries after `revision`, in order. If some were pruned, it starts at the oldest that's left. */
  readJournalPage(site: number, revision: number, limit: number): Promise<JournalPage>;

  /** Counts a site's journal entries after revision `after`, up to `through`, by resource. Takes time proportional to their number. */
  countChanges(site: number, after: number, through: number): Promise<ReadonlyMap<string, number>>;

  /**
   * Deletes a site's oldest journal entries: up to revision `through`, at most `most` at a time, and never the last one. The same transaction saves
   * where the journal then starts.
   * @returns whether there's more to delete
   */
  pruneJournal(site: number, through: number, most: number): Promise<boolean>;

  /**
   * Gives a site a new epoch because commits in `epoch` were lost, unless it already has a different one. Doesn't wait for a standby. Only engines
   * with timelines have this method.
   * @returns the site's head after that
   */
  replaceEpoch?(site: number, epoch: string): Promise<Head>;

  /**
   * Checks that writes work by committing one that changes nothing. It fails for the reasons any write would: a full disk, a lock, a read-only
   * database or a standby.
   */
  probeWrite(): Promise<void>;

  /**
   * Deletes responses for idempotency keys, of any site, stored at `before` (milliseconds since 1970) or earlier. Runs in its own transaction and
   * isn't journaled.
   * @param most maximum number of responses to delete
   * @returns whether there may be more. If so, pause to let others write, then call again
   */
  deleteExpiredResponses(before: number, most: number): Promise<boolean>;

  /** Saves when API keys were last used: milliseconds since 1970, by key ID. Not journaled, and a crash may lose it. */
  saveKeyUses(uses: ReadonlyMap<number, number>): Promise<void>;

  /** Reads when each API key was last used: milliseconds since 1970, by key ID. */
  readLastKeyUses(): Promise<ReadonlyMap<number, number>>;

  close(): Promise<void>;
}

/** What commands do to a whole site or to all data. Part of `Engine`, with the same errors. */
interface EngineMaintenance {
  /**
   * Deletes everything of a deleted site but its ID, in chunks that delay others no longer than a commit would. After the first chunk, the site is
   * empty and rejects writes. If interrupted, any process can repeat the call. If a restore has brought the site's record back, the call stops or
   * does nothing.
   */
  dropSite(site: number): Promise<void>;

  /** Reads the sites whose record in the system site is deleted but whose rows `dropSite` hasn't finished deleting. */
  readSitesToDrop(): Promise<readonly number[]>;

  /** Reads the rows of all tables that belong in a backup (`tablesWith` in store/database/tables.ts), or those of one site, as of one moment. */
  dump(site?: number): AsyncIterable<DumpedRow> | Iterable<DumpedRow>;

  /**
   * Replaces all data with `rows` in a single swap, and gives every site a new epoch. Other processes can read and write up to the swap, which delays
   * them briefly. If `rows` throws, nothing has changed.
   *
   * Recorded restrictions aren't replaced but added to; for each limit, the later decision counts.
   * @param save gets the replaced rows after the swap. If an earlier call was killed after its swap, `save` first gets the rows that one replaced,
   * before the new swap. If `save` throws, so does this, and the replaced rows stay in the database for the next call
   * @param amend decides, at the swap, how to change the system site in `rows`. May be called more than once
   * @returns the heads of the sites that were replaced
   */
  replaceAllData(
    rows: AsyncIterable<DumpedRow>,
    save?: SaveReplacedRows,
    amend?: Amend,
  ): Promise<ReadonlyMap<number, Head>>;

  /**
   * Stores `rows` as the data of a site that was never written to, in chunks that delay others no longer than a commit would. The rows are those of
   * `dump(site)`, with the row of `sites` last. Until that one is stored, the site rejects writes; with it, it gets a new epoch.
   * @throws ProblemError `conflict` if the site has been written to or removed, `bad-request` for a row that can't be stored, or whatever `rows`
   * throws. `dropSite` can then delete what was stored
   */
  importSiteRows(site: number, rows: AsyncIterable<DumpedRow>): Promise<void>;

  /** Reads the latest decision about each limit of a key, operator, webhook or site. */
  readRestrictions(): Promise<readonly RecordedRestriction[]>;

  /** Gives every site a new epoch, which invalidates all earlier versions. Returns the number of sites, not counting the system site. */
  replaceEpochs(): Promise<number>;

  /**
   * Checks the stored data. Returns its inconsistencies as sentences: up to 1,000 about rows, then one that counts the rest.
   * @param onRow called for each row read
   */
  findInconsistencies(onRow?: () => void): Promise<readonly string[]>;
}

/** The connections or files a database is using. Each engine has its own members. */
export interface EngineUsage {
  /** Connections to a database server: in use, calls waiting for one, and the maximum. */
  readonly connections?: { readonly inUse: number; readonly waiting: number; readonly max: number };
  /** Size of the write-ahead log, if it's a file on this machine. */
  readonly logBytes?: number;
}

export interface CommitSubscription {
  /** Whether commits can go unnoticed. If so, the caller must also read the heads from time to time. */
  readonly mayMissCommits: boolean;
  stop(): void;
}

/** @param sites those that changed, and perhaps others; undefined if it could be any */
export type OnCommit = (sites: readonly number[] | undefined) => void;

interface EngineMonitoring {
  /** Whether opening the database created its tables. */
  readonly isNew?: boolean;

  /**
   * Calls `onCommit` soon after any process has committed, usually within 25 ms. It's only a hint: it can be late, repeated or wrong. A subscription
   * has a cost even if nothing is committed.
   */
  subscribeToCommits(onCommit: OnCommit): CommitSubscription;

  /** Reads the random ID of this database. It isn't in dumps, so a restored or copied database has a different one. */
  readDatabaseId(): Promise<string>;

  /** Saves the moment captured by a backup of all data, in milliseconds since 1970. Not included in backups, restores and copies. */
  saveBackupTime(at: number): Promise<void>;

  /** Returns the moment captured by the last backup, in milliseconds since 1970; undefined if there's none. */
  readLastBackupTime(): Promise<number | undefined>;

  /** Engines without this information don't have this method. */
  usage?(): EngineUsage;
}

/** A line of a dump: a table and one of its rows, by column. */
export interface DumpedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, string | number | null>>;
}

/** Saves the rows that `replaceAllData` has replaced, in the order of a dump. */
export type SaveReplacedRows = (rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>) => Promise<void>;
