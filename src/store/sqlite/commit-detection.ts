// Detects commits to an SQLite database at a hundredth of the cost of `pragma data_version`.
//
// In WAL mode, every commit, in whatever process, ends by rewriting the header of the wal-index, at the start of the file `-shm`
// (https://sqlite.org/walformat.html, section 2.1). It has a transaction counter, the number of the last frame, and checksums. We read it in shared
// memory, like SQLite does.
//
// The header consists of two copies of 48 bytes. SQLite writes the first copy last, before the commit returns. So as long as these 48 bytes stay the
// same, we haven't missed an acknowledged commit. During such a write, we see torn bytes. They differ from before, so the check reports a change, and
// the engine asks SQLite.
//
// The file's descriptor stays open for as long as the process runs (`openForever`), because closing it would drop SQLite's locks.

import { type Pointer, toArrayBuffer } from "bun:ffi";
import type { Database } from "bun:sqlite";
import { fstatSync, openSync, statSync } from "node:fs";
import { loadCFunctions } from "../../lib/operating-system.ts";
import type { CommitSubscription, OnCommit } from "../../model/engine.ts";
import type { KnownFile } from "./files.ts";

/** Bytes in the first copy of the header. */
const headerLength = 48;

/** Returns true only if there was certainly no commit since the last call. The first call returns false. */
export type UnchangedCheck = () => boolean;

/**
 * Returns a function that creates independent checks of `database`.
 * @param files the files that `database` has open; `-shm` exists while any connection is open
 */
export function createCheckFactory(database: Database, files: readonly KnownFile[]): () => UnchangedCheck {
  const index = files.find(({ path }) => path.endsWith("-shm"));
  const header = index && mapHeader(index.path);
  return () => (header ? createHeaderCheck(header) : createDataVersionCheck(database));
}

function createHeaderCheck(header: Uint32Array): UnchangedCheck {
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

/** Maps the header as memory shared with every process that uses the database. Returns undefined if that's not possible. */
function mapHeader(path: string): Uint32Array | undefined {
  // `Bun.mmap` would open and close the file, which drops SQLite's locks (see `openForever`).
  const types = { args: ["ptr", "usize", "int", "int", "int", "i64"], returns: "ptr" } as const;
  const mmap = loadCFunctions({ mmap: types })?.mmap;
  if (!mmap) return undefined;
  const file = openForever(path);
  // Reading past the end of a mapped file would end the process.
  if (fstatSync(file).size < headerLength) return undefined;
  const address: unknown = mmap(null, headerLength, readable, shared, file, 0);
  // If mmap fails, it returns the largest address, which isn't a safe integer and so doesn't arrive as a number.
  return typeof address === "number" ? new Uint32Array(toArrayBuffer(address as Pointer, 0, headerLength)) : undefined;
}

const [readable, shared] = [1, 1];

/** Works on every system, but calls SQLite each time. */
export function createDataVersionCheck(database: Database): UnchangedCheck {
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
 * Opens a file once per process and never closes it. Closing any descriptor of it would drop SQLite's locks in this process (POSIX.1 fcntl, "all
 * locks associated with a file for a given process shall be removed").
 */
function openForever(path: string): number {
  const known = opened.get(path);
  if (known !== undefined && fstatSync(known).ino === statSync(path).ino) return known;
  const file = openSync(path, "r");
  opened.set(path, file);
  return file;
}

/** A check takes less than a microsecond on Linux, and a few elsewhere. */
const pollIntervalMs = 10;

/** Implements `Engine.subscribeToCommits` by polling. Each subscription compares with what it last saw, so none misses a commit. */
export class CommitPoller {
  readonly #createCheck: () => UnchangedCheck;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(createCheck: () => UnchangedCheck) {
    this.#createCheck = createCheck;
  }

  start(onCommit: OnCommit): CommitSubscription {
    const checkUnchanged = this.#createCheck();
    const timer = setInterval(() => {
      if (mayHaveChanged(checkUnchanged)) onCommit(undefined);
    }, pollIntervalMs);
    timer.unref();
    this.#timers.add(timer);
    return { mayMissCommits: false, stop: () => this.#stop(timer) };
  }

  /** Ends all subscriptions, because checks need the open database. */
  close(): void {
    for (const timer of this.#timers) this.#stop(timer);
  }

  #stop(timer: NodeJS.Timeout): void {
    clearInterval(timer);
    this.#timers.delete(timer);
  }
}

/** If the check fails, the subscriber reads the database and gets the error. */
function mayHaveChanged(checkUnchanged: UnchangedCheck): boolean {
  try {
    return !checkUnchanged();
  } catch {
    return true;
  }
}
