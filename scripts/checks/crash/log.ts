// Reads recorder.c's log of what programs did to the files below a folder, in order.

import { existsSync, readFileSync } from "node:fs";

/**
 * A record in the log.
 * - `write` and `size` change the content of the file `inode`; `offset` is where the data goes, or the new size
 * - `sync` and `failed-sync` are the end of a sync, which covers what happened before the position `begin` in the log
 * - `create`, `folder`, `remove`, `rename` and `link` change names; `other` is the new name
 * - `fault` is a call that the recorder made fail
 */
export interface DiskEvent {
  readonly kind:
    | "write"
    | "size"
    | "sync"
    | "failed-sync"
    | "create"
    | "folder"
    | "remove"
    | "rename"
    | "link"
    | "fault";
  readonly inode: number;
  readonly offset: number;
  readonly begin: number;
  readonly path: string;
  readonly other: string;
  readonly data: Uint8Array;
  /** Position in the log after this record. Once the log has this size, the event has happened. */
  readonly end: number;
}

const kinds: Readonly<Record<string, DiskEvent["kind"]>> = {
  W: "write",
  T: "size",
  S: "sync",
  E: "failed-sync",
  C: "create",
  M: "folder",
  U: "remove",
  R: "rename",
  L: "link",
  F: "fault",
};

/** Size of a record without its texts and data (`struct record`). */
const headBytes = 48;

/**
 * Leaves out the index of SQLite's log (`-shm`), which SQLite rebuilds after a power loss.
 * @throws Error if a program made a call that the recorder doesn't know
 */
export function readLog(file: string): DiskEvent[] {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const events: DiskEvent[] = [];
  for (let at = 0; at + headBytes <= bytes.length; ) {
    const [pathLength, otherLength, dataLength] = [32, 36, 40].map((offset) => bytes.readUInt32LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const text = at + headBytes;
    const data = text + pathLength + otherLength;
    const end = data + dataLength;
    const letter = String.fromCharCode(bytes.readUInt32LE(at));
    const path = bytes.toString("utf8", text, text + pathLength);
    const other = bytes.toString("utf8", text + pathLength, data);
    if (letter === "X")
      throw new Error(`the recorder doesn't know the system call ${other}, which was used on ${path}`);
    const [inode, offset, begin] = [8, 16, 24].map((offset) => Number(bytes.readBigUInt64LE(at + offset))) as [
      number,
      number,
      number,
    ];
    const kind = kinds[letter];
    const isKept = kind === "fault" || !path.endsWith("-shm");
    if (kind && isKept) events.push({ kind, inode, offset, begin, path, other, data: bytes.subarray(data, end), end });
    at = end;
  }
  return events;
}
