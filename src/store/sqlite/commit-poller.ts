// Detects commits to a SQLite database, for a hundredth of the cost of `pragma data_version`.
//
// In WAL mode, every commit of any process ends by rewriting the header of the wal-index: the first 48 bytes of the
// file `-shm` (https://sqlite.org/walformat.html, section 2.1), which hold a counter of transactions, the last frame and
// checksums. We read it in shared memory, as SQLite does. The first of its two copies is written last, before the commit
// returns. So while these bytes are the same, no confirmed commit is missing. Torn bytes differ, and then we ask SQLite.

import { type Pointer, toArrayBuffer } from "bun:ffi";
import type { Database } from "bun:sqlite";
import { fstatSync, openSync, statSync } from "node:fs";
import { cFunctions } from "../../lib/operating-system.ts";
import type { CommitWatch, OnCommit } from "../../model/engine.ts";
import type { KnownFile } from "./files.ts";

const headerLength = 48;

/** Returns true only if there was certainly no commit since the last call. The first call returns false. */
export type CommitCheck = () => boolean;

/**
 * Returns a function that makes independent checks of `database`, which has `files` open: the file `-shm` is there as long as a
 * connection is.
 */
export function commitChecks(database: Database, files: readonly KnownFile[]): () => CommitCheck {
  const index = files.find(({ path }) => path.endsWith("-shm"));
  const header = index && mapHeader(index.path);
  return () => (header ? checkHeader(header) : checkDataVersion(database));
}

function checkHeader(header: Uint32Array): CommitCheck {
  const last = new Uint32Array(header.length);
  let known = false;
  return () => {
    let same = known;
    for (let i = 0; i < header.length; i++) {
      const word = header[i] as number;
      if (word !== last[i]) same = false;
      last[i] = word;
    }
    known = true;
    return same;
  };
}

/** The header in memory that is shared with all processes that have the database open; undefined if it is not available. */
function mapHeader(path: string): Uint32Array | undefined {
  // `Bun.mmap` would open and close the file, which drops SQLite's locks (see below).
  const types = { args: ["ptr", "usize", "int", "int", "int", "i64"], returns: "ptr" } as const;
  const mmap = cFunctions({ mmap: types })?.mmap;
  if (!mmap) return undefined;
  const file = openForever(path);
  // A read beyond the end of the mapped file would end the process.
  if (fstatSync(file).size < headerLength) return undefined;
  const address: unknown = mmap(null, headerLength, readable, shared, file, 0);
  // The result of a failure is the largest address, which is not a safe integer.
  return typeof address === "number" ? new Uint32Array(toArrayBuffer(address as Pointer, 0, headerLength)) : undefined;
}

const [readable, shared] = [1, 1];

/** The same on every system, for a call of SQLite. */
export function checkDataVersion(database: Database): CommitCheck {
  const query = database.query<{ data_version: number }, []>("pragma data_version");
  let last: number | undefined;
  return () => {
    const version = query.get()?.data_version;
    const same = version === last;
    last = version;
    return same;
  };
}

const opened = new Map<string, number>();

/**
 * Opens a file once per process and never closes it: to close any descriptor of it would drop the locks that SQLite has
 * on it in this process (POSIX.1 fcntl, "all locks associated with a file for a given process shall be removed").
 */
function openForever(path: string): number {
  const known = opened.get(path);
  if (known !== undefined && fstatSync(known).ino === statSync(path).ino) return known;
  const file = openSync(path, "r");
  opened.set(path, file);
  return file;
}

/** Milliseconds between two looks. One takes less than a microsecond on Linux, and some microseconds elsewhere. */
const interval = 10;

/** See `Engine.watchCommits`. None is missed: each watch compares what it saw last. */
export class CommitWatches {
  readonly #newCheck: () => CommitCheck;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(newCheck: () => CommitCheck) {
    this.#newCheck = newCheck;
  }

  start(onCommit: OnCommit): CommitWatch {
    const isUnchanged = this.#newCheck();
    const timer = setInterval(() => {
      if (mayHaveChanged(isUnchanged)) onCommit(undefined);
    }, interval);
    timer.unref();
    this.#timers.add(timer);
    return { mayMiss: false, stop: () => this.#stop(timer) };
  }

  /** Ends all watches, since a check needs the open database. */
  close(): void {
    for (const timer of this.#timers) this.#stop(timer);
  }

  #stop(timer: NodeJS.Timeout): void {
    clearInterval(timer);
    this.#timers.delete(timer);
  }
}

/** A database that cannot be read is reported as changed: whoever then reads it gets the error. */
function mayHaveChanged(isUnchanged: CommitCheck): boolean {
  try {
    return !isUnchanged();
  } catch {
    return true;
  }
}
