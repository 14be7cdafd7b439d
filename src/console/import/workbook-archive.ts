// A workbook's ZIP archive, its XML parts, and limits.
//
// A small workbook can unzip to gigabytes. The archive says how large each part is, so we check that before reserving memory.

/// <reference path="./saxen.d.ts" />

import { unzipSync } from "fflate";
import { Parser } from "saxen";

const mebibyte = 1024 * 1024;

export const workbookLimits = {
  /** Maximum size of the file in bytes. */
  fileBytes: 20 * mebibyte,
  /** Maximum bytes of all unzipped parts that we read, and maximum characters of the CSV. */
  unzippedBytes: 256 * mebibyte,
  /** Maximum rows with content, not counting the header. Same as the server's limit. */
  rows: 300_000,
  /** Maximum columns. Same as the server's limit. */
  columns: 1000,
} as const;

/** Why a file can't be read. `protected`: it has a password. `old`: it's in Excel's format before 2007. `other`: it isn't an Excel workbook. */
export type WorkbookFault =
  | "broken"
  | "columns"
  | "empty"
  | "large"
  | "old"
  | "other"
  | "protected"
  | "rows"
  | "unzipped";

export class WorkbookError extends Error {
  readonly fault: WorkbookFault;

  constructor(fault: WorkbookFault, cause?: unknown) {
    super(fault, { cause });
    this.fault = fault;
  }
}

/** Receives the content of an XML part. Names come without their prefixes. */
export interface PartHandler {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(part: string): void;
  close?(name: string): void;
}

interface Relation {
  readonly id: string;
  /** The last segment of its type, such as `worksheet`. */
  readonly type: string;
  /** The part's path in the archive. */
  readonly path: string;
}

const chunkBytes = 65_536;

export class Archive {
  readonly #bytes: Uint8Array;
  #unzippedBytes = 0;

  constructor(bytes: Uint8Array) {
    if (bytes.length > workbookLimits.fileBytes) throw new WorkbookError("large");
    if (startsWith(bytes, [0xd0, 0xcf, 0x11, 0xe0])) throw new WorkbookError(isEncrypted(bytes) ? "protected" : "old");
    if (!startsWith(bytes, [0x50, 0x4b])) throw new WorkbookError("other");
    this.#bytes = bytes;
  }

  /** Parses a part, if the archive has it. @throws WorkbookError */
  parse(path: string, handler: PartHandler, onProgress: (share: number) => void = () => {}): void {
    const bytes = this.#unzip(path);
    if (!bytes) throw new WorkbookError("broken");
    const depth = { now: 0 };
    const parser = toParser(handler, depth);
    const decoder = new TextDecoder("utf-8", { fatal: true });
    try {
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        parser.write(decoder.decode(bytes.subarray(at, at + chunkBytes), { stream: true }));
        onProgress(Math.min(1, (at + chunkBytes) / bytes.length));
      }
      parser.write(decoder.decode()).end();
      // The parser accepts truncated documents.
      if (depth.now !== 0) throw new WorkbookError("broken");
    } catch (error) {
      throw error instanceof WorkbookError ? error : new WorkbookError("broken", error);
    }
  }

  /** Returns a part's relations, or the whole archive's for an empty path. Only the archive of a workbook must have some. */
  relationsOf(part: string): readonly Relation[] {
    const folder = part.slice(0, part.lastIndexOf("/") + 1);
    const path = `${folder}_rels/${part.slice(folder.length)}.rels`;
    const relations: Relation[] = [];
    if (!this.#has(path)) return relations;
    this.parse(path, {
      open(name, { Id: id = "", Type: type = "", Target: target = "" }) {
        if (name !== "Relationship") return;
        const resolved = new URL(target, `zip:///${folder}`).pathname.slice(1);
        relations.push({ id, type: type.slice(type.lastIndexOf("/") + 1), path: decodeURIComponent(resolved) });
      },
    });
    return relations;
  }

  #has(path: string): boolean {
    let has = false;
    this.#read((name) => {
      has ||= name === path;
      return false;
    });
    return has;
  }

  #unzip(path: string): Uint8Array | undefined {
    const files = this.#read((name, size) => {
      if (name !== path) return false;
      this.#unzippedBytes += size;
      if (this.#unzippedBytes > workbookLimits.unzippedBytes) throw new WorkbookError("unzipped");
      return true;
    });
    return files[path];
  }

  /** Unzips the files that `isWanted` accepts. No file can grow larger than the archive says. */
  #read(isWanted: (name: string, size: number) => boolean): Readonly<Record<string, Uint8Array>> {
    try {
      return unzipSync(this.#bytes, { filter: ({ name, originalSize }) => isWanted(name, originalSize) });
    } catch (error) {
      throw error instanceof WorkbookError ? error : new WorkbookError("broken", error);
    }
  }
}

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

/** Whether a compound file contains an encrypted workbook, in which case its directory lists the stream "EncryptedPackage", in UTF-16. */
function isEncrypted(bytes: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(bytes).includes([..."EncryptedPackage"].join("\0"));
}

/** @param depth the number of open elements, which the parser keeps up to date */
function toParser(handler: PartHandler, depth: { now: number }): Parser {
  const parser = new Parser();
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("openTag", (name, attributes) => {
    depth.now++;
    if (!handler.open) return;
    const decoded: Record<string, string> = {};
    for (const [attribute, value] of Object.entries(attributes())) decoded[withoutPrefix(attribute)] = decode(value);
    handler.open(withoutPrefix(name), decoded);
  });
  parser.on("closeTag", (name) => {
    depth.now--;
    handler.close?.(withoutPrefix(name));
  });
  parser.on("text", (text) => handler.text?.(decode(text)));
  parser.on("cdata", (text) => handler.text?.(text));
  return parser;
}

const entities = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/**
 * Decodes the references in a text or attribute. The parser's own function cuts characters beyond U+FFFF to 16 bits. @throws RangeError for a number
 * that isn't a character
 */
function decode(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (reference, hex, decimal, name) =>
    name ? (entities.get(name) ?? reference) : String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal)),
  );
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

export function isTrue(value: string | undefined): boolean {
  return value === "1" || value === "true";
}
