// A file that arrives in parts, to be read when it is complete.

import { appendFileSync, createReadStream, rmSync, truncateSync, writeFileSync } from "node:fs";
import { fieldNames, readCsvRows } from "../../formats/csv.ts";
import { decodeText } from "../../formats/text-encoding.ts";
import { Refusal } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { accessing } from "../output.ts";
import type { FileFormat } from "./file-rows.ts";

export class Upload {
  readonly #path: string;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #size = 0;
  #parts = 0;
  #isUtf8 = true;
  #isRemoved = false;

  /** @param path of a file that does not exist; only this user may read it */
  constructor(path: string) {
    this.#path = path;
    writing(() => writeFileSync(path, "", { mode: 0o600, flag: "wx" }));
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  /** The number of parts that have arrived. */
  get parts(): number {
    return this.#parts;
  }

  /** Whether it may be UTF-8; a character that the end cuts off does not count. */
  get isUtf8(): boolean {
    return this.#isUtf8;
  }

  /**
   * Adds a part. The last one may come again, when the response to it was lost.
   * @param number from 0
   * @throws Refusal `conflict` when another part is the next one, `unavailable` when it cannot be written
   */
  add(number: number, bytes: Uint8Array): void {
    if (number === this.#parts - 1) return;
    if (number !== this.#parts) throw new Refusal("conflict", `the next part is ${this.#parts}, not ${number}`);
    writing(() => {
      try {
        appendFileSync(this.#path, bytes);
      } catch (error) {
        truncateSync(this.#path, this.#size);
        throw error;
      }
    });
    this.#size += bytes.length;
    this.#parts++;
    if (this.#isUtf8) this.#isUtf8 = this.#decodes(bytes);
  }

  /** @param onRead is called with the number of bytes of each piece @throws Refusal `conflict` when the file was removed */
  async *read(onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    if (this.#isRemoved) throw new Refusal("conflict", "the file is not kept any longer; its import has ended");
    for await (const chunk of createReadStream(this.#path)) {
      onRead?.(chunk.length);
      yield chunk;
    }
  }

  remove(): void {
    this.#isRemoved = true;
    rmSync(this.#path, { force: true });
  }

  #decodes(bytes: Uint8Array): boolean {
    try {
      this.#decoder.decode(bytes, { stream: true });
      return true;
    } catch {
      return false;
    }
  }
}

function writing(write: () => void): void {
  accessing("the file cannot be kept", write);
}

// What a file looks like before it is imported: its format, its encoding, its columns and the first rows.

interface FileLook {
  readonly format: FileFormat;
  /** Undefined unless it is CSV, as all that follows. */
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly columns?: readonly FileColumn[];
}

interface FileColumn {
  readonly name: string;
  /** The field that has the same name, apart from case and punctuation; undefined when there is none. */
  readonly field: string | undefined;
  /** Its cells in the first rows. */
  readonly samples: readonly string[];
}

/** Rows of which samples are taken, and characters of a sample. */
const sampledRows = 5;
const maxSample = 200;
/** Columns that a file may have. */
const maxColumns = 1000;

/**
 * @param named the encoding and delimiter, where they are known
 * @throws Refusal `bad-request` when it cannot be read so
 */
export async function lookAtUpload(
  upload: Upload,
  resource: Resource,
  named: { readonly encoding?: string | undefined; readonly delimiter?: string | undefined } = {},
): Promise<FileLook> {
  const start = await firstBytes(upload);
  const format = formatIn(start);
  if (format !== "csv") return { format };
  const encoding = named.encoding ?? encodingOf(start, upload.isUtf8);
  const { rows, delimiter } = await firstRows(upload, encoding, named.delimiter);
  const [header, ...others] = rows;
  if (!header) throw new Refusal("bad-request", "the file is empty");
  if (header.length > maxColumns) throw new Refusal("bad-request", `the file has more than ${maxColumns} columns`);
  const columns = header.map((name, index) => ({
    name,
    field: fieldNamed(resource, name),
    samples: others.map((cells) => (cells[index] ?? "").slice(0, maxSample)),
  }));
  return { format, encoding, delimiter, columns: withoutRepeated(columns) };
}

async function firstBytes(upload: Upload): Promise<Buffer> {
  for await (const chunk of upload.read()) return Buffer.from(chunk);
  return Buffer.alloc(0);
}

function formatIn(start: Buffer): FileFormat {
  const first = /^[\ufeff\s]*([[{<])/.exec(start.toString("utf8", 0, 1000))?.[1];
  if (first === "<") return "xml";
  return first ? "json" : "csv";
}

/** What is not UTF-8 and has no byte order mark is what Windows programs of western Europe write, or UTF-16 if it has zeros. */
function encodingOf(start: Buffer, isUtf8: boolean): string {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  if (start[1] === 0) return "utf-16le";
  if (start[0] === 0 && start.length > 1) return "utf-16be";
  return isUtf8 ? "utf-8" : "windows-1252";
}

async function firstRows(upload: Upload, encoding: string, named: string | undefined) {
  const rows: (readonly string[])[] = [];
  let delimiter = "";
  for await (const read of readCsvRows(decodeText(upload.read(), encoding), named)) {
    if (!read) throw new Refusal("bad-request", "the first row is too long; is this a table?");
    delimiter = read.delimiter;
    rows.push(...read.rows.map(({ cells }) => cells).slice(0, sampledRows + 1 - rows.length));
    if (rows.length > sampledRows) break;
  }
  return { rows, delimiter };
}

/** The field that a column names: by its path, or by the last part of it if no other field has that. Case and punctuation do not matter. */
function fieldNamed(resource: Resource, column: string): string | undefined {
  const name = normal(column);
  if (name === "" || column.startsWith("#")) return undefined;
  const paths = fieldNames(resource);
  const exact = paths.find((path) => path === column) ?? paths.find((path) => normal(path) === name);
  if (exact) return exact;
  const ends = paths.filter((path) => normal(path.slice(path.lastIndexOf(".") + 1)) === name);
  return ends.length === 1 ? ends[0] : undefined;
}

function normal(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** Of several columns for the same field, the first one counts. A column whose name is not unique cannot be mapped. */
function withoutRepeated(columns: readonly FileColumn[]): FileColumn[] {
  const names = columns.map(({ name }) => name);
  const fields = columns.map(({ field }) => field);
  return columns.map((column, index) => {
    const isRepeated = names.indexOf(column.name) !== names.lastIndexOf(column.name);
    return isRepeated || fields.indexOf(column.field) < index ? { ...column, field: undefined } : column;
  });
}
