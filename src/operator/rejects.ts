// The rows that an import refused, as a CSV file to correct and to import again: with the columns and the delimiter of the
// imported file, after two columns for notes, which an import ignores.

import { once } from "node:events";
import { PassThrough } from "node:stream";
import { toCsvRow } from "../formats/csv-rows.ts";
import type { Fault } from "../model/errors.ts";
import { requireFolder, writeFile } from "./output.ts";
import type { CsvSource, NumberedRow } from "./rows.ts";

interface Rejects {
  /** @throws Refusal `unavailable` when the file cannot be written */
  add(row: NumberedRow, faults: readonly Fault[]): Promise<void>;
  /** Completes the file, which is empty if no row was added. @throws Refusal `unavailable` */
  close(): Promise<void>;
  /** Completes the file after an import that failed, as far as possible. If no row was added, the file is left as it was. */
  abandon(): Promise<void>;
}

const notes = ["# row", "# fault"];

/**
 * Opens the file for refused rows. Its previous content is replaced when it is closed.
 * @throws Refusal `unavailable` when no file can be created there
 */
export function openRejects(file: string): Rejects {
  requireFolder(file);
  let output: Output | undefined;
  /** The last row whose quoting has a fault: the quote may never be closed, so that no row can follow. */
  let held = "";
  const close = async () => {
    output ??= openOutput(file);
    await output.write(held);
    await output.end();
  };
  return {
    async add({ number, source }, faults) {
      if (!source) return;
      if (!output) {
        output = openOutput(file);
        await output.write(headerOf(source));
      }
      let line = toLine(number, source, faults);
      if (source.text !== undefined) [line, held] = [held, line];
      await output.write(line);
    },
    close,
    abandon: async () => (output ? close().catch(() => {}) : undefined),
  };
}

interface Output {
  write(text: string): Promise<void>;
  end(): Promise<void>;
}

/** A file that is written as its text arrives, at the pace of the disk. */
function openOutput(file: string): Output {
  const lines = new PassThrough({ objectMode: true });
  const written = writeFile(file, lines);
  // An error ends both, and is thrown by the next call.
  written.catch((error) => lines.destroy(error));
  lines.on("error", () => {});
  return {
    async write(text) {
      if (lines.destroyed) await written;
      else if (text !== "" && !lines.write(text)) await once(lines, "drain").catch(() => written);
    },
    end() {
      lines.end();
      return written;
    },
  };
}

/** The header row. With a byte order mark, since spreadsheets read UTF-8 only so. */
function headerOf({ table }: CsvSource): string {
  const header = hasNotes(table.header) ? table.header : [...notes, ...table.header];
  return `\ufeff${toCsvRow(header, table.delimiter)}`;
}

function toLine(row: number, { table, cells, text }: CsvSource, faults: readonly Fault[]): string {
  const { header, delimiter } = table;
  const fault = faults.map(({ field, detail }) => (field ? `${field}: ${detail}` : detail)).join("; ");
  if (text === undefined) return toCsvRow([row, fault, ...(hasNotes(header) ? cells.slice(2) : cells)], delimiter);
  const line = /[\r\n]$/.test(text) ? text : `${text}\r\n`;
  return hasNotes(header) ? line : `${toCsvRow([row, fault], delimiter).trimEnd()}${delimiter}${line}`;
}

/** Whether the imported file was itself written here. */
function hasNotes(header: readonly string[]): boolean {
  return notes.every((note, index) => header[index] === note);
}
