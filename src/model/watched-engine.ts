// What operators watch of a database.

import type { MaybePromise } from "../lib/maybe-promise.ts";

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

export interface WatchedEngine {
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
