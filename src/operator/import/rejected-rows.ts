// A file with the rows that an import refused.

import { once } from "node:events";
import { PassThrough } from "node:stream";
import { toCsvRow } from "../../formats/csv.ts";
import { escapeXmlComment } from "../../formats/xml.ts";
import type { Fault } from "../../model/errors.ts";
import { requireFolder, writeFile } from "../output.ts";
import {
  type CsvSource,
  type FileFormat,
  type ItemSource,
  type NumberedRow,
  notes,
  type RowSource,
} from "./file-rows.ts";

interface Rejects {
  /** @throws Refusal `unavailable` when the file cannot be written */
  add(row: NumberedRow, faults: readonly Fault[]): Promise<void>;
  /** Completes the file, which is empty if no row was added. @throws Refusal `unavailable` */
  close(): Promise<void>;
  /** Completes the file after an import that failed, as far as possible. If no row was added, the file is left as it was. */
  abandon(): Promise<void>;
}

/**
 * Opens the file for refused rows. Its previous content is replaced when it is closed.
 * @throws Refusal `unavailable` when no file can be created there
 */
export function openRejects(file: string): Rejects {
  requireFolder(file);
  let output: Output | undefined;
  let frame = { start: "", separator: "", end: "" };
  /** The last row whose quoting has a fault: the quote may never be closed, so that no row can follow. */
  let held = "";
  const close = async () => {
    output ??= openOutput(file);
    await output.write(held + frame.end);
    await output.end();
  };
  return {
    async add(row, faults) {
      const isFirst = !output;
      if (isFirst) frame = frameOf(row.source);
      output ??= openOutput(file);
      let text = toRefusedRow(row, faults);
      if (row.source.format === "csv" && row.source.text !== undefined) [text, held] = [held, text];
      await output.write((isFirst ? frame.start : frame.separator) + text);
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

// How the rows that an import refused are written, to correct and to import again: in the format of the imported file, each with its number and its
// faults, which an import ignores.

/** What is written before the first row, between two rows, and after the last one. */
interface Frame {
  readonly start: string;
  readonly separator: string;
  readonly end: string;
}

const frames: Record<FileFormat, Frame> = {
  csv: { start: "", separator: "", end: "" },
  json: { start: "[\n", separator: ",\n", end: "\n]\n" },
  xml: { start: '<?xml version="1.0" encoding="utf-8"?>\n<Results>\n', separator: "", end: "</Results>\n" },
};

/** The frame of a file whose first row is `source`. */
function frameOf(source: RowSource): Frame {
  const frame = frames[source.format];
  return source.format === "csv" ? { ...frame, start: headerOf(source) } : frame;
}

function toRefusedRow({ number, source }: NumberedRow, faults: readonly Fault[]): string {
  const fault = faults.map(({ field, detail }) => (field ? `${field}: ${detail}` : detail)).join("; ");
  if (source.format === "csv") return toLine(number, source, fault);
  if (source.format === "json") return toObject(number, source, fault);
  return `<!-- row ${number}: ${escapeXmlComment(fault)} -->\n${source.text}\n`;
}

/** The header row. With a byte order mark, since spreadsheets read UTF-8 only so. */
function headerOf({ table }: CsvSource): string {
  const header = hasNotes(table.header) ? table.header : [...notes, ...table.header];
  return `\ufeff${toCsvRow(header, table.delimiter)}`;
}

function toLine(row: number, { table, cells, text }: CsvSource, fault: string): string {
  const { header, delimiter } = table;
  if (text === undefined) return toCsvRow([row, fault, ...(hasNotes(header) ? cells.slice(2) : cells)], delimiter);
  const line = /[\r\n]$/.test(text) ? text : `${text}\r\n`;
  return hasNotes(header) ? line : `${toCsvRow([row, fault], delimiter).trimEnd()}${delimiter}${line}`;
}

/** Whether the imported file was itself written here. */
function hasNotes(header: readonly string[]): boolean {
  return notes.every((note, index) => header[index] === note);
}

/** The notes at the beginning of an object, as they are written here. */
const writtenNotes = /^\{\s*"# row"\s*:\s*[0-9]+\s*,\s*"# fault"\s*:\s*"(?:[^"\\]|\\.)*"\s*,?/;

/** The members as they are in the file: what is read of them may be less, for example of two with the same name. */
function toObject(row: number, { text }: ItemSource, fault: string): string {
  const bare = text.replace(writtenNotes, "{");
  const isObject = bare.startsWith("{") && !notes.some((note) => bare.includes(JSON.stringify(note)));
  if (!isObject) return text;
  const members = bare.slice(1).trimStart();
  const [rowNote, faultNote] = notes;
  const written = JSON.stringify({ [rowNote]: row, [faultNote]: fault });
  return `${written.slice(0, -1)}${members === "}" ? "" : ","}${members}`;
}
