import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Amend } from "./amend.ts";
import type { DumpedRow, SaveReplaced } from "./dump.ts";
import type { Head } from "./engine.ts";

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
