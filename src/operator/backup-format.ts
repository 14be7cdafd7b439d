// A backup is lines of JSON, compressed with gzip: a header, one line for each row of each table, and a last line with the
// number of rows and their digest. It does not depend on the engine.

import { createReadStream, existsSync, statSync } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { messageOf } from "../lib/thrown.ts";
import type { DumpedRow } from "../model/dump.ts";
import { Refusal } from "../model/errors.ts";
import { columnsOf, isRequired, type TableName, tables } from "../store/tables.ts";
import { isStandardInput } from "./standard-streams.ts";

const formatVersion = 1;

/** Characters of a line: many times those of any row. Bounds the memory that a file without line ends takes. */
const maxLineLength = 1 << 24;

/** The lines of a backup before compression, several to a string. @param onRow called for each row */
export async function* toBackupLines(
  rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>,
  now: number,
  onRow: () => void,
): AsyncGenerator<string> {
  const digest = new Bun.CryptoHasher("sha256");
  yield `${JSON.stringify({ storefront: formatVersion, made: new Date(now).toISOString() })}\n`;
  let lines: string[] = [];
  let count = 0;
  for await (const { table, row } of rows) {
    const line = `${JSON.stringify([table, row])}\n`;
    digest.update(line);
    count++;
    onRow();
    lines.push(line);
    if (lines.length === 256) {
      yield lines.join("");
      lines = [];
    }
  }
  yield `${lines.join("")}${JSON.stringify({ rows: count, sha256: digest.digest("hex") })}\n`;
}

/**
 * The rows of the backup in `file`, or from standard input.
 * @throws Refusal `bad-request` when it is not a backup, also after the last row: when their number or digest is wrong
 */
export async function* readBackup(file: string): AsyncGenerator<DumpedRow> {
  const digest = new Bun.CryptoHasher("sha256");
  let rows = 0;
  let isFirst = true;
  let end: { rows?: number; sha256?: string } = {};
  for await (const line of readLines(file)) {
    const value = parse(file, line);
    if (isFirst) {
      if (value.storefront !== formatVersion)
        throw notABackup(file, "`storefront backup` did not write it, or a newer version did");
      isFirst = false;
    } else if (Array.isArray(value)) {
      if (!isRow(value)) throw notABackup(file, "it has rows that this version does not know");
      digest.update(`${line}\n`);
      rows++;
      yield { table: value[0], row: value[1] };
    } else end = value;
  }
  if (end.rows !== rows || end.sha256 !== digest.digest("hex")) throw notABackup(file, "it is damaged or incomplete");
}

function isRow([table, row]: unknown[]): boolean {
  if (typeof table !== "string" || !Object.hasOwn(tables, table) || typeof row !== "object" || !row) return false;
  return columnsOf(table as TableName).every((column) =>
    Object.hasOwn(row, column) ? isCell(Object(row)[column]) : !isRequired(table as TableName, column),
  );
}

function isCell(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number";
}

async function* readLines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    const unpacked = createGunzip();
    pipeline(openInput(file), unpacked, () => {
      // An error of either stream destroys `unpacked`, and the loop below throws it.
    });
    for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
      const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
      const lines = [rest + first, ...others];
      rest = lines.pop() ?? "";
      yield* lines;
      if (rest.length > maxLineLength) throw notABackup(file, "it has a line that is too long");
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw notABackup(file, messageOf(error));
  }
}

function openInput(file: string): NodeJS.ReadableStream {
  if (isStandardInput(file)) return process.stdin;
  if (!existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  if (statSync(file).isDirectory()) throw notABackup(file, "it is a folder");
  return createReadStream(file);
}

// biome-ignore lint/suspicious/noExplicitAny: a header, a row or the last line; the caller checks which
function parse(file: string, line: string): any {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw notABackup(file, "it is damaged");
  }
  if (typeof value !== "object" || value === null) throw notABackup(file, "it is damaged");
  return value;
}

function notABackup(file: string, why: string): Refusal {
  return new Refusal("bad-request", `${file} cannot be restored: ${why}`);
}
