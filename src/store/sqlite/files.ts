// Checks that the paths of a database still lead to the files SQLite has open. Otherwise we could lose acknowledged writes: a removed file exists for
// as long as a process has it open, and SQLite would go on committing to it.
//
// Files are identified by device and inode number, which can't be reused while SQLite has the file open. We check the paths without opening the
// files, because closing a descriptor would drop SQLite's locks (POSIX.1 fcntl).
//
// The writer checks before and after each commit (writer.ts). The second check is the one that counts, because a file can be removed between the
// first and the commit: a write is only acknowledged if the files were still in place afterwards. For reads, a check is good for a second.

import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { loadCFunctions } from "../../lib/operating-system.ts";
import { unavailableError } from "../../model/errors.ts";

/** How long a successful check is good for reads. */
const checkIntervalMs = 1000;

/** A file's identity when the database was opened. Plain data, to send to another thread. */
export interface KnownFile {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** For the database file, its log (`-wal`) and its index (`-shm`). A connection in WAL mode has all three open. */
export function knownFiles(path: string): KnownFile[] {
  // If `path` is a symbolic link, the log and index are beside its target.
  const target = realpathSync(path);
  return [path, `${target}-wal`, `${target}-shm`].map((file) => {
    const { dev, ino } = statSync(file, { bigint: true });
    return { path: file, device: dev, inode: ino };
  });
}

/** Returns the size of the log of the database at `path`; 0 if there's none. */
export function logSize(path: string): number {
  return statSync(logPath(path), { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns the path of the log of the database at `path`. If that's a symbolic link, the log is beside its target. */
export function logPath(path: string): string {
  return `${realpathSync(path)}-wal`;
}

/** @throws ProblemError `unavailable` if one of `files` was removed or replaced */
export function requireUnreplacedFiles(files: readonly KnownFile[]): void {
  for (const { path, device, inode } of files) {
    const found = readFileState(path);
    if (found?.dev === device && found.ino === inode) continue;
    throw unavailableError(`${path} was ${found ? "replaced" : "removed"} while in use; restart whatever uses it`);
  }
}

/** The fields that `statx` is asked for, and where it puts them (statx(2)). */
const [inodeOnly, inodeAt, majorAt, minorAt, statxBytes] = [0x100, 32, 136, 140, 256];
const currentFolder = -100;

/**
 * Returns a check for each commit, which throws like `requireUnreplacedFiles`. It doesn't ask for the files' times. If somebody does, Linux 6.13 and
 * later store a new time with the next write, and flushing the log takes up to 40% longer.
 */
export function createCommitCheck(files: readonly KnownFile[]): () => void {
  const types = { args: ["int", "ptr", "int", "u32", "ptr"], returns: "int" } as const;
  const statx = loadCFunctions({ statx: types })?.statx;
  if (!statx) return () => requireUnreplacedFiles(files);
  const bytes = new Uint8Array(statxBytes);
  const found = new DataView(bytes.buffer);
  const names = files.map(({ path }) => Buffer.from(`${path}\0`));
  const isUnreplaced = ({ device, inode }: KnownFile, index: number) =>
    statx(currentFolder, names[index] as Buffer, 0, inodeOnly, bytes) === 0 &&
    found.getBigUint64(inodeAt, true) === inode &&
    toDevice(found.getUint32(majorAt, true), found.getUint32(minorAt, true)) === device;
  return () => {
    if (!files.every(isUnreplaced)) requireUnreplacedFiles(files);
  };
}

/** makedev(3) */
function toDevice(major: number, minor: number): bigint {
  const [low, high] = [BigInt(major), BigInt(minor)];
  return ((low & ~0xfffn) << 32n) | ((low & 0xfffn) << 8n) | ((high & ~0xffn) << 12n) | (high & 0xffn);
}

/** Returns a check for reads, which looks at `files` at most once a second, but on every call after a failure. */
export function createFileCheck(files: readonly KnownFile[]): () => void {
  let due = 0;
  return () => {
    const now = performance.now();
    if (now < due) return;
    requireUnreplacedFiles(files);
    due = now + checkIntervalMs;
  };
}

function readFileState(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw unavailableError(`can't check ${path}: ${errorMessage(error)}`, error);
  }
}
