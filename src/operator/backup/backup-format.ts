// Reads and writes the file format of `backup` and `export-site`, which is the same for every engine: JSON lines compressed with gzip. There's a header,
// a line for each row of each table, and a last line with the number of rows and their digest.

import { createReadStream, existsSync, statSync } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import { errorMessage, systemErrorCode } from "../../lib/errors-for-log.ts";
import type { DumpedRow } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { columnsOf, isRequired, isText, type TableName, tables } from "../../store/database/tables.ts";
import { requireFolder, writeFile } from "../files/atomic-file.ts";
import { isStandardInput, isStandardOutput, readStandardInput } from "../files/standard-streams.ts";

/** The header has the kind of file and its version, so that one isn't read as the other. */
const kinds = {
  /** The whole database. */
  storefront: { version: 1, writer: "storefront backup", reader: "restore", done: "restored" },
  /** One site. */
  "storefront-site": { version: 1, writer: "storefront export-site", reader: "import-site", done: "imported" },
} as const;

type FileKind = keyof typeof kinds;

export interface BackupHeader {
  /** When it was made, in milliseconds since 1970; NaN if the file doesn't say. */
  readonly made: number;
  /** The ID of the database that made it (`readDatabaseId`); undefined in site files, and in backups from early versions. */
  readonly database: string | undefined;
}

/** In characters. Much longer than any row, so it only limits the memory for a file without line ends. */
const maxLineLength = 1 << 24;

/** Only the owner can read the file, because it has all the data. */
const mode = 0o600;

/**
 * Compresses and writes lines (see `writeFile`).
 * @throws ProblemError `conflict` if the file exists, and is neither empty nor of this kind, because it could be the database
 */
export async function writeBackupFile(kind: FileKind, file: string, lines: AsyncIterable<string>): Promise<void> {
  if (!isStandardOutput(file)) await requireReplaceable(kind, file);
  return writeFile(file, lines, { through: createGzip({ level: 6 }), mode });
}

async function requireReplaceable(kind: FileKind, file: string): Promise<void> {
  requireFolder(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size === 0 || (await isOfKind(kind, file))) return;
  const detail = `${file} exists, and wasn't written by \`${kinds[kind].writer}\`; use another name, or delete it first`;
  throw new ProblemError("conflict", detail);
}

/** Whether the file has a header of this kind, in any version. */
async function isOfKind(kind: FileKind, file: string): Promise<boolean> {
  const toError = (why: string) => notReadableError(kind, file, why);
  try {
    for await (const line of readLines(file, toError)) return Object.hasOwn(parse(line, toError), kind);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
  }
  return false;
}

/** Yields several lines at a time. @param onRow called for each row */
export async function* toBackupLines(
  kind: FileKind,
  rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>,
  { made, database }: BackupHeader,
  onRow: (row: DumpedRow) => void,
): AsyncGenerator<string> {
  const digest = new Bun.CryptoHasher("sha256");
  yield `${JSON.stringify({ [kind]: kinds[kind].version, made: new Date(made).toISOString(), database })}\n`;
  let lines: string[] = [];
  let count = 0;
  for await (const dumped of rows) {
    const line = `${JSON.stringify([dumped.table, dumped.row])}\n`;
    digest.update(line);
    count++;
    onRow(dumped);
    lines.push(line);
    if (lines.length === 256) {
      yield lines.join("");
      lines = [];
    }
  }
  yield `${lines.join("")}${JSON.stringify({ rows: count, sha256: digest.digest("hex") })}\n`;
}

/**
 * @param file a path, or `-` for standard input
 * @param onHeader called before the first row
 * @throws ProblemError `bad-request` if it isn't a file of this kind, or after the last row if their number or digest is wrong
 */
export async function* readBackup(
  kind: FileKind,
  file: string,
  onHeader: (header: BackupHeader) => void = () => {},
): AsyncGenerator<DumpedRow> {
  const toError = (why: string) => notReadableError(kind, file, why);
  const digest = new Bun.CryptoHasher("sha256");
  let rows = 0;
  let isFirst = true;
  let end: { rows?: number; sha256?: string } = {};
  for await (const line of readLines(file, toError)) {
    const value = parse(line, toError);
    if (isFirst) {
      requireKind(kind, value, toError);
      const { made, database } = value;
      onHeader({ made: Date.parse(made), database: typeof database === "string" ? database : undefined });
      isFirst = false;
    } else if (Array.isArray(value)) {
      if (!isRow(value))
        throw toError("it's from another version of the program, and has rows that this one doesn't know");
      digest.update(`${line}\n`);
      rows++;
      yield { table: value[0], row: value[1] };
    } else end = value;
  }
  if (end.rows !== rows || end.sha256 !== digest.digest("hex")) throw toError("it's damaged or incomplete");
}

type ToError = (why: string) => ProblemError;

function requireKind(kind: FileKind, header: Record<string, unknown>, toError: ToError): void {
  const { version, writer } = kinds[kind];
  if (header[kind] === version) return;
  const other = (Object.keys(kinds) as FileKind[]).find((name) => name !== kind && Object.hasOwn(header, name));
  throw toError(
    other
      ? `it was written by \`${kinds[other].writer}\`; use \`${kinds[other].reader}\``
      : `it wasn't written by \`${writer}\`, or only a newer version can read it`,
  );
}

function isRow([table, row]: unknown[]): boolean {
  if (typeof table !== "string" || !Object.hasOwn(tables, table) || typeof row !== "object" || !row) return false;
  return columnsOf(table as TableName).every((column) =>
    Object.hasOwn(row, column)
      ? isCell(Object(row)[column], isText(table as TableName, column))
      : !isRequired(table as TableName, column),
  );
}

function isCell(value: unknown, isOfText: boolean): boolean {
  return value === null || (isOfText ? typeof value === "string" : Number.isSafeInteger(value));
}

async function* readLines(file: string, toError: ToError): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    const unpacked = createGunzip();
    pipeline(openInput(file, toError), unpacked, () => {
      // An error in either stream destroys `unpacked`, so the loop below throws it.
    });
    for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
      const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
      const lines = [rest + first, ...others];
      rest = lines.pop() ?? "";
      yield* lines;
      if (rest.length > maxLineLength) throw toError("it has a line that is too long");
    }
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw toError(describeReadError(error));
  }
}

/** In plain words, unlike zlib's messages. */
function describeReadError(error: unknown): string {
  const message = errorMessage(error);
  if (message === "incorrect header check") return "it's another kind of file";
  if (message === "unexpected end of file") return "it's empty or incomplete";
  return systemErrorCode(error)?.startsWith("Z_") || error instanceof TypeError ? "it's damaged" : message;
}

function openInput(file: string, toError: ToError): NodeJS.ReadableStream {
  if (isStandardInput(file)) return Readable.from(readStandardInput(), { objectMode: false });
  if (!existsSync(file)) throw new ProblemError("not-found", `file not found: ${file}`);
  if (statSync(file).isDirectory()) throw toError("it's a folder");
  return createReadStream(file);
}

// biome-ignore lint/suspicious/noExplicitAny: a header, a row or the last line; the caller checks which
function parse(line: string, toError: ToError): any {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw toError("it's damaged");
  }
  if (typeof value !== "object" || value === null) throw toError("it's damaged");
  return value;
}

function notReadableError(kind: FileKind, file: string, why: string): ProblemError {
  return new ProblemError("bad-request", `${file} can't be ${kinds[kind].done}: ${why}`);
}
