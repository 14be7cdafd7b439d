import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Change, JournalPage } from "./change.ts";
import type { CredentialStore } from "./credentials.ts";
import type { EngineMaintenance } from "./engine-maintenance.ts";
import type { Intent, Outcome } from "./intent.ts";
import type { WatchedEngine } from "./watched-engine.ts";
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
