// Whether anybody committed to a SQLite database, for a hundredth of what `pragma data_version` costs.
//
// In WAL mode every commit, by any process, ends with rewriting the header of the wal-index: the first 48 bytes of the
// file `-shm` (https://sqlite.org/walformat.html, section 2.1), which hold a counter of transactions, the last frame and
// checksums. It is looked at in shared memory, as SQLite does. The first of its two copies is written last, before the commit returns. So as long as these bytes are the
// same, nothing that was acknowledged is missing; bytes that are torn differ, and then SQLite itself is asked.

import { dlopen, type Pointer, toArrayBuffer } from "bun:ffi";
import type { Database } from "bun:sqlite";
import { fstatSync, openSync, readFileSync, statSync } from "node:fs";
import type { KnownFile } from "./files.ts";

const headerLength = 48;

/** Says whether certainly nobody has committed since it was last called. The first answer is no. */
type CommitWatch = () => boolean;

/** Watches `database`, which has `files` open: the file `-shm` is there as long as a connection is. */
export function watchCommits(database: Database, files: readonly KnownFile[]): CommitWatch {
  const index = files.find(({ path }) => path.endsWith("-shm"));
  const header = index && process.platform === "linux" ? mapHeader(index.path) : undefined;
  return header ? watchHeader(header) : watchDataVersion(database);
}

function watchHeader(header: Uint32Array): CommitWatch {
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

/** The header in memory, shared with every process that has the database open; undefined where that cannot be had. */
function mapHeader(path: string): Uint32Array | undefined {
  const file = openForever(path);
  // To read a mapping beyond its file's end would end the process.
  if (fstatSync(file).size < headerLength) return undefined;
  const address = mapFile(file);
  return address === undefined ? undefined : new Uint32Array(toArrayBuffer(address, 0, headerLength));
}

const [readable, shared] = [1, 1];

/** mmap(2). Bun's own would open the file anew and close it, which drops SQLite's locks (see below). */
function mapFile(file: number): Pointer | undefined {
  const library = loadedLibrary();
  if (!library) return undefined;
  const map = mmapOf(library);
  const address: unknown = map?.(null, headerLength, readable, shared, file, 0);
  // A failure is the largest address there is, which fits no number.
  return typeof address === "number" ? (address as Pointer) : undefined;
}

/** `mmap` of the C library; undefined where Bun cannot call it: it has no JIT when memory is limited by `ulimit -v`. */
function mmapOf(library: string) {
  try {
    const types = { args: ["ptr", "usize", "int", "int", "int", "i64"], returns: "ptr" } as const;
    return dlopen(library, { mmap: types }).symbols.mmap;
  } catch {
    return undefined;
  }
}

/** The C library that this process runs on, glibc or musl. By its full name: a file of that name elsewhere is not to be run. */
function loadedLibrary(): string | undefined {
  const maps = readFileSync("/proc/self/maps", "utf8");
  return /\/\S*\/(?:libc\.so\.6|libc-[0-9.]+\.so|ld-musl-[^/\s]+\.so\.1)$/m.exec(maps)?.[0];
}

function watchDataVersion(database: Database): CommitWatch {
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
