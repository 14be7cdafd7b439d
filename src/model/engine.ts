import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Change } from "./change.ts";
import type { Intent, Outcome } from "./intent.ts";

/** Where a site's journal stands. */
export interface Head {
  /** The last change's number; 0 before the first. */
  readonly revision: number;
  /** Differs when the site's history is another one, as after `restore`: equal revisions then mean nothing. */
  readonly epoch: string;
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
  readonly limit?: number;
  /** Where the site is known to stand. */
  readonly minHead?: Head;
}

/** A site's rows, those of a resource together and in ID order, as of `head`. */
export interface SiteContents {
  readonly head: Head;
  readonly rows: readonly RecordRow[];
}

/** A line of a dump: a table's name and one row of it, column by column. */
export interface DumpedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, string | number | null>>;
}

/** Keeps what a refill has replaced, all of it, in the order of a dump. */
export type SaveReplaced = (rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>) => Promise<void>;

/**
 * The port to a database. Nothing outside `store/` knows which one answers.
 *
 * Everything throws Refusal `unavailable` when the database cannot be reached, is full, or does not answer in time;
 * then nothing of the call has happened. Only where the connection broke during a commit does nobody know: all of it
 * happened, or nothing.
 */
export interface Engine {
  /** Where each of `sites` stands now, in their order; a site that was never written to is at revision 0. */
  heads(sites: readonly number[]): MaybePromise<readonly Head[]>;

  /**
   * Whether certainly nobody has committed anything since the last call. Only an engine that can tell for next to
   * nothing has it. @throws Refusal `unavailable` when the database is no longer the one that was opened
   */
  unchanged?(): boolean;

  /**
   * Opens now what the first commit would open otherwise. A server does this before it listens: once all file descriptors
   * are taken, the runtime ends the process instead of starting a thread.
   */
  openForWriting?(): Promise<void>;

  /**
   * A site's rows, read in one transaction.
   * @param minHead the last head of the site that the caller knows: `unavailable` when the database is behind that in the same history
   */
  load(site: number, minHead?: Head): MaybePromise<SiteContents>;

  /**
   * The changes after `revision` in order; undefined when some of them were pruned away.
   * @param options.epoch undefined comes back when the site's history is another one
   * @param options.minHead as for `load`
   */
  since(site: number, revision: number, options?: SinceOptions): MaybePromise<readonly Change[] | undefined>;

  /**
   * Decides the intents in order and stores what follows, journal and idempotency records with it, in one transaction.
   * When it returns, all of that is on durable storage. An intent with an idempotency key may be committed again after
   * a commit of unknown outcome.
   * @param atomic when one intent is refused, nothing is stored and the outcomes up to the refused one come back
   */
  commit(intents: readonly Intent[], atomic?: boolean): Promise<readonly Outcome[]>;

  /**
   * Finds out whether a write can be committed now, by committing one that leaves everything as it is. It takes the way of
   * every write, so whatever refuses those refuses this one: a full disk, a lock, a database that is read-only or a standby.
   */
  tryWrite(): Promise<void>;

  /**
   * Deletes, for good and from every site, some of the responses kept for idempotency keys that were stored at `before` (milliseconds since
   * 1970) or earlier, in a transaction of its own that is no part of the journal.
   * @param most how many at most
   * @returns whether there may be more; to be called again then, after a pause in which others get their turn
   */
  deleteExpiredResponses(before: number, most: number): Promise<boolean>;

  /** Notes when keys were last used (milliseconds since 1970 by key ID); lossy, and no part of the journal. */
  noteKeyUse(uses: ReadonlyMap<number, number>): Promise<void>;

  /** When each key was last used, by key ID. */
  keyUses(): MaybePromise<ReadonlyMap<number, number>>;

  /**
   * Removes everything of a site but its number, in portions that hold up others for no longer than a commit does. From the
   * first on the site is empty and takes no more writes. May be called again, also by another process, where it was
   * interrupted. Does nothing, or stops, where the site's record is not one that was deleted: a restore has brought it back.
   */
  dropSite(site: number): Promise<void>;

  /** The sites whose record was deleted from the system site, and of which `dropSite` has left something. */
  undroppedSites(): MaybePromise<readonly number[]>;

  /** Everything that is stored, as of one moment. */
  dump(): AsyncIterable<DumpedRow> | Iterable<DumpedRow>;

  /**
   * Replaces everything that is stored by `rows`, at once, and starts new epochs. Others read and write meanwhile; only the
   * moment in which the one takes the place of the other holds them up. When `rows` throws, nothing is changed.
   * @param keep gets all that was stored at that moment, after it. What an earlier refill that was killed had replaced comes
   * first, in a call of its own. When `keep` throws, so does this, and what it got stays in the database for the next refill
   * @returns where each site stood at that moment
   */
  refill(rows: AsyncIterable<DumpedRow>, save?: SaveReplaced): Promise<ReadonlyMap<number, Head>>;

  /** What is wrong with the stored data, in sentences; empty when nothing is. */
  check(): MaybePromise<readonly string[]>;

  close(): Promise<void>;
}
