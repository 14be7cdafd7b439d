// What operators watch of a database.

import type { MaybePromise } from "../lib/maybe-promise.ts";

/** What a database uses at this moment. Each engine has its own members. */
export interface EngineUsage {
  /** Connections to a database server: in use, the calls that wait for one, and how many there may be. */
  readonly connections?: { readonly inUse: number; readonly waiting: number; readonly max: number };
  /** Bytes of the write-ahead log, when that is a file on this machine. */
  readonly logBytes?: number;
}

export interface WatchedEngine {
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
