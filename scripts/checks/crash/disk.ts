// A model of a disk with a cache, as POSIX describes it, to find out what a power loss can leave of the files below a folder.
//
// A write stays in the cache until its file is synced, and a name until its folder is synced. A power loss keeps any part of the cache. A failed sync does the
// worst that kernels do: earlier writes count as written, but are lost.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DiskEvent } from "./log.ts";

class DiskFile {
  #space: Uint8Array;
  #size: number;

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#space = bytes;
    this.#size = bytes.length;
  }

  get bytes(): Uint8Array {
    return this.#space.subarray(0, this.#size);
  }

  copy(): DiskFile {
    return new DiskFile(this.bytes.slice());
  }

  resize(size: number): void {
    if (size > this.#space.length) {
      const space = new Uint8Array(size * 2);
      space.set(this.bytes);
      this.#space = space;
    } else this.#space.fill(0, size);
    this.#size = size;
  }

  write(data: Uint8Array, offset: number): void {
    if (offset + data.length > this.#size) this.resize(offset + data.length);
    this.#space.set(data, offset);
  }
}

/** What a name stands for: a file, a folder, or nothing. */
type Entry = DiskFile | "folder" | undefined;

/** A change in the cache. `position` is where the log is after its event. */
type Pending = { readonly position: number } & (
  | { readonly kind: "write"; readonly file: DiskFile; readonly offset: number; readonly data: Uint8Array }
  | { readonly kind: "size"; readonly file: DiskFile; readonly size: number }
  | { readonly kind: "names"; readonly folder: string; readonly names: readonly (readonly [string, Entry])[] }
);

/**
 * What's left of a change in the cache: all of it, nothing, or for a write, those sectors for which the function returns true. Sectors are aligned ranges of
 * `bytes`.
 */
export type Left = boolean | { readonly bytes: number; readonly has: () => boolean };

/** A file or, without `bytes`, a folder. */
interface StoredFile {
  readonly path: string;
  readonly inode: number;
  readonly bytes: Uint8Array | undefined;
}

/** The files and folders that a power loss leaves, by path below the folder. */
export type Image = ReadonlyMap<string, Uint8Array | "folder">;

/** `root` is the folder; the programs use absolute paths. */
export class Disk {
  readonly #root: string;
  readonly #durable = new Map<string, Entry>();
  readonly #live = new Map<string, Entry>();
  readonly #inodes = new Map<number, DiskFile>();
  #pending: Pending[] = [];

  /** @param files what the folder has at the start, all durable. Default: what's below it now */
  constructor(root: string, files: readonly StoredFile[] = storedBelow(root)) {
    this.#root = root;
    this.#addDurable(root, "folder");
    for (const { path, inode, bytes } of files) this.#addDurable(path, bytes ? this.#newFile(inode, bytes) : "folder");
  }

  /** Changes in the cache. */
  get pending(): number {
    return this.#pending.length;
  }

  apply(event: DiskEvent): void {
    const { kind, path, other, end: position } = event;
    if (kind === "write")
      this.#add({ kind, position, file: this.#file(event), offset: event.offset, data: event.data });
    else if (kind === "size") this.#add({ kind, position, file: this.#file(event), size: event.offset });
    else if (kind === "sync" || kind === "failed-sync") this.#sync(event);
    else if (kind === "create") this.#setNames(position, [[path, this.#newFile(event.inode)]]);
    else if (kind === "folder") this.#setNames(position, [[path, "folder"]]);
    else if (kind === "remove") this.#setNames(position, [[path, undefined]]);
    else if (kind === "link") this.#setNames(position, [[other, this.#live.get(path)]]);
    else if (kind === "rename") this.#rename(position, path, other);
  }

  /** Returns what a power loss leaves. @param decide called for each change in the cache, oldest first */
  image(decide: (index: number) => Left): Image {
    const names = new Map(this.#durable);
    const copies = new Map<DiskFile, DiskFile>();
    const copyOf = (file: DiskFile) => {
      const copy = copies.get(file) ?? file.copy();
      copies.set(file, copy);
      return copy;
    };
    this.#pending.forEach((change, index) => {
      const left = decide(index);
      if (left === false) return;
      if (change.kind === "names") for (const [path, entry] of change.names) names.set(path, entry);
      else if (change.kind === "size") copyOf(change.file).resize(change.size);
      else writeSectors(copyOf(change.file), change, left);
    });
    return this.#reachable(names, (file) => copies.get(file) ?? file);
  }

  #reachable(names: ReadonlyMap<string, Entry>, current: (file: DiskFile) => DiskFile): Image {
    const image = new Map<string, Uint8Array | "folder">();
    const isReachable = (path: string): boolean =>
      path === this.#root || (names.get(path) === "folder" && isReachable(dirname(path)));
    for (const [path, entry] of [...names].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (entry === undefined || path === this.#root || !isReachable(dirname(path))) continue;
      image.set(path.slice(this.#root.length + 1), entry === "folder" ? entry : current(entry).bytes);
    }
    return image;
  }

  #sync({ kind, path, inode, begin }: DiskEvent): void {
    const isFolder = this.#live.get(path) === "folder";
    const file = this.#inodes.get(inode);
    this.#pending = this.#pending.filter((change) => {
      const isCovered =
        change.position <= begin &&
        (change.kind === "names" ? isFolder && change.folder === path : change.file === file);
      if (isCovered && kind === "sync") this.#flush(change);
      return !isCovered;
    });
  }

  #flush(change: Pending): void {
    if (change.kind === "names") for (const [path, entry] of change.names) this.#durable.set(path, entry);
    else if (change.kind === "size") change.file.resize(change.size);
    else change.file.write(change.data, change.offset);
  }

  #rename(position: number, from: string, to: string): void {
    const names: [string, Entry][] = [
      [to, this.#live.get(from)],
      [from, undefined],
    ];
    if (dirname(from) === dirname(to)) this.#setNames(position, names);
    else for (const name of names) this.#setNames(position, [name]);
  }

  /** @param names all in the same folder */
  #setNames(position: number, names: [string, Entry][]): void {
    for (const [path, entry] of names) this.#live.set(path, entry);
    this.#add({ kind: "names", position, folder: dirname((names[0] as [string, Entry])[0]), names });
  }

  #add(change: Pending): void {
    this.#pending.push(change);
  }

  #newFile(inode: number, bytes?: Uint8Array): DiskFile {
    const file = new DiskFile(bytes);
    this.#inodes.set(inode, file);
    return file;
  }

  #file({ inode, path }: DiskEvent): DiskFile {
    const file = this.#inodes.get(inode);
    if (!file) throw new Error(`the log doesn't say where ${path} came from`);
    return file;
  }

  #addDurable(path: string, entry: Entry): void {
    this.#durable.set(path, entry);
    this.#live.set(path, entry);
  }
}

function storedBelow(folder: string): StoredFile[] {
  const names = readdirSync(folder).filter((name) => !name.endsWith("-shm"));
  return names.flatMap((name) => {
    const path = join(folder, name);
    const found = statSync(path);
    const file = { path, inode: found.ino, bytes: found.isDirectory() ? undefined : readFileSync(path) };
    return found.isDirectory() ? [file, ...storedBelow(path)] : [file];
  });
}

function writeSectors(file: DiskFile, { data, offset }: { data: Uint8Array; offset: number }, left: Left): void {
  if (typeof left === "boolean") {
    file.write(data, offset);
    return;
  }
  for (let from = offset; from < offset + data.length; ) {
    const to = Math.min(offset + data.length, from - (from % left.bytes) + left.bytes);
    if (left.has()) file.write(data.subarray(from - offset, to - offset), from);
    from = to;
  }
}
