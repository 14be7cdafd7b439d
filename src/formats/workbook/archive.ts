// A workbook's ZIP archive. Only opens the parts that are asked for, and counts what they really unzip to.

import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from "yauzl";
import { createYielder } from "../../lib/yielding.ts";
import { ProblemError } from "../../model/errors.ts";
import { decodeText } from "../text-encoding.ts";
import type { XmlElement } from "../xml-parser.ts";
import { passwordError } from "./file-kinds.ts";
import { PartReader } from "./part-reader.ts";
import { type ByteSource, damagedError, tooLargeError, workbookLimits } from "./workbook-limits.ts";

/** From one part to another (ECMA-376 part 2). */
export interface Relation {
  readonly id: string;
  /** The last segment of its type, such as `worksheet`, because Strict workbooks have other URLs. */
  readonly type: string;
  readonly path: string;
}

export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  #unzippedBytes = 0;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** @throws ProblemError `bad-request`, `too-large` */
  static async open(source: ByteSource): Promise<Archive> {
    const entries = new Map<string, Entry>();
    try {
      const options = { decodeStrings: false, autoClose: false };
      const zip = await fromRandomAccessReaderPromise(new SourceReader(source), source.size, options);
      if (zip.entryCount > workbookLimits.entries) throw tooManyEntriesError();
      for await (const entry of zip.eachEntry()) {
        const path = normalizePath(entry.fileNameRaw.toString());
        if (!entries.has(path)) entries.set(path, entry);
      }
      return new Archive(zip, entries);
    } catch (error) {
      throw toDamage(error, "it was cut off, or its archive has errors");
    }
  }

  get paths(): readonly string[] {
    return [...this.#entries.keys()];
  }

  has(path: string): boolean {
    return this.#entries.has(normalizePath(path));
  }

  /**
   * Reads a part, and yields after each chunk which children of some elements have ended in it.
   * @param what the part, for messages
   * @param parents see `PartReader`
   * @throws ProblemError `bad-request`, `too-large`
   */
  async *read(path: string, what: string, parents: readonly string[]): AsyncGenerator<readonly XmlElement[]> {
    const reader = new PartReader(parents);
    const yieldIfDue = createYielder();
    try {
      for await (const chunk of decodeText(this.#unzip(path, what))) {
        await yieldIfDue();
        // The rest is only unzipped to compare checksums.
        if (reader.isDone) continue;
        yield reader.readChunk(chunk);
      }
      yield reader.readChunk(undefined);
    } catch (error) {
      throw toDamage(error, `${what} can't be read`);
    }
  }

  /** Returns a part's relations to others in the archive, or the whole archive's for an empty path. */
  async relationsOf(part: string): Promise<Relation[]> {
    const folder = part.slice(0, part.lastIndexOf("/") + 1);
    const path = `${folder}_rels/${part.slice(folder.length)}.rels`;
    const relations: Relation[] = [];
    if (!this.has(path)) return relations;
    for await (const elements of this.read(path, "a list of relations", ["Relationships"])) {
      for (const { attributes } of elements) {
        if (attributes.get("TargetMode") === "External") continue;
        const type = attributes.get("Type") ?? "";
        relations.push({
          id: attributes.get("Id") ?? "",
          type: type.slice(type.lastIndexOf("/") + 1),
          path: resolvePath(folder, attributes.get("Target") ?? ""),
        });
      }
      if (relations.length > workbookLimits.entries) throw tooManyEntriesError();
    }
    return relations;
  }

  async *#unzip(path: string, what: string): AsyncGenerator<Uint8Array> {
    const entry = this.#entries.get(normalizePath(path));
    if (!entry) throw damagedError(`${what} is missing`);
    if (entry.isEncrypted()) throw passwordError();
    // If the declared size is too small, yauzl reports that at the first byte beyond it.
    if (this.#unzippedBytes + entry.uncompressedSize > workbookLimits.unzippedBytes) throw unzippedError();
    let checksum = 0;
    for await (const chunk of await this.#zip.openReadStreamPromise(entry)) {
      this.#unzippedBytes += chunk.length;
      if (this.#unzippedBytes > workbookLimits.unzippedBytes) throw unzippedError();
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
    if (checksum !== entry.crc32) throw damagedError(`${what} has changed since it was saved`);
  }
}

const readBytes = 65_536;

/** Connects a file with yauzl. */
class SourceReader extends RandomAccessReader {
  readonly #source: ByteSource;

  constructor(source: ByteSource) {
    super();
    this.#source = source;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const source = this.#source;
    const chunks = async function* () {
      for (let at = start; at < end; at += readBytes) yield await source.read(at, Math.min(readBytes, end - at));
    };
    return Readable.from(chunks(), { objectMode: false });
  }
}

/** Names can have any case (part 2, section 6.2.2.3). Some programs write backslashes. */
function normalizePath(path: string): string {
  return path.replaceAll("\\", "/").replace(/^\/+/, "").toLowerCase();
}

/** @param folder the path of the part's folder, with a slash at the end */
function resolvePath(folder: string, target: string): string {
  try {
    const { pathname } = new URL(target.replaceAll("\\", "/"), `zip:///${folder}`);
    return decodeURIComponent(pathname).slice(1);
  } catch {
    return target;
  }
}

function tooManyEntriesError(): ProblemError {
  return tooLargeError(`its archive has more than ${workbookLimits.entries} files`);
}

function unzippedError(): ProblemError {
  return tooLargeError(`it unzips to more than ${workbookLimits.unzippedBytes >> 20} MiB`);
}

/** Turns errors of yauzl, zlib and the parser into ours. Keeps those of the file system. */
function toDamage(error: unknown, detail: string): unknown {
  if (!(error instanceof ProblemError))
    return error instanceof Error && "syscall" in error ? error : damagedError(detail, error);
  if (error.code !== "bad-request" || /^th(?:e|is) workbook/.test(error.message)) return error;
  return damagedError(`${detail}, because ${error.message.replace(/^the (?:body|file)/, "it")}`, error);
}
