// Writes the rows that an import rejected to a file, in the format of the imported file. An operator can correct the rows and import the file again.
// Each row is annotated with its number and its field errors; an import ignores these annotations.

import { once } from "node:events";
import { PassThrough } from "node:stream";
import { byteOrderMark, toCsvRow } from "../../formats/csv.ts";
import { escapeXmlComment } from "../../formats/xml-elements.ts";
import type { FieldError } from "../../model/errors.ts";
import { requireFolder, writeFile } from "../files/atomic-file.ts";
import {
  annotationNames,
  type CsvSource,
  type FileFormat,
  type ItemSource,
  type NumberedRow,
  type RowSource,
} from "./file-rows.ts";

interface RejectedRowsFile {
  /** @throws ProblemError `unavailable` if the file cannot be written */
  add(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void>;
  /** Completes the file. It is empty if no row was added. @throws ProblemError `unavailable` */
  close(): Promise<void>;
  /** Completes the file after a failed import, as far as possible. If no row was added, the previous file is unchanged. */
  closeAfterFailure(): Promise<void>;
}

/**
 * Opens the file for rejected rows. Closing it replaces the previous file.
 * @throws ProblemError `not-found` or `unavailable` if the file cannot be created
 */
export function openRejectedRowsFile(file: string): RejectedRowsFile {
  requireFolder(file);
  let output: Output | undefined;
  let frame = { start: "", separator: "", end: "" };
  /** The last row with wrong quoting. It is written at the end: if its quote is never closed, a row after it could not be read. */
  let deferredRow = "";
  const close = async () => {
    output ??= openOutput(file);
    await output.write(deferredRow + frame.end);
    await output.end();
  };
  return {
    async add(row, fieldErrors) {
      const isFirst = !output;
      if (isFirst) frame = frameOf(row.source);
      output ??= openOutput(file);
      let text = formatRejectedRow(row, fieldErrors);
      if (row.source.format === "csv" && row.source.text !== undefined) [text, deferredRow] = [deferredRow, text];
      await output.write((isFirst ? frame.start : frame.separator) + text);
    },
    close,
    closeAfterFailure: async () => (output ? close().catch(() => {}) : undefined),
  };
}

interface Output {
  write(text: string): Promise<void>;
  end(): Promise<void>;
}

/** Opens a file that is written while its text arrives, at the speed of the disk. */
function openOutput(file: string): Output {
  const lines = new PassThrough({ objectMode: true });
  const written = writeFile(file, lines);
  // An error ends both streams, and the next call throws it.
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

// The format of rejected rows.

/** The text before the first row, between two rows, and after the last row. */
interface FileFrame {
  readonly start: string;
  readonly separator: string;
  readonly end: string;
}

const frames: Record<FileFormat, FileFrame> = {
  csv: { start: "", separator: "", end: "" },
  json: { start: "[\n", separator: ",\n", end: "\n]\n" },
  xml: { start: '<?xml version="1.0" encoding="utf-8"?>\n<Results>\n', separator: "", end: "</Results>\n" },
};

/** Returns the frame of a file that begins with the row `source`. */
function frameOf(source: RowSource): FileFrame {
  const frame = frames[source.format];
  if (source.format === "csv") return { ...frame, start: headerOf(source) };
  return { ...frame, start: frame.start.replace("<Results", () => `<Results${source.declarations ?? ""}`) };
}

function formatRejectedRow({ number, source }: NumberedRow, fieldErrors: readonly FieldError[]): string {
  const fault = fieldErrors.map(({ field, detail }) => (field ? `${field}: ${detail}` : detail)).join("; ");
  if (source.format === "csv") return toLine(number, source, fault);
  if (source.format === "json") return toObject(number, source, fault);
  return `<!-- row ${number}: ${escapeXmlComment(fault)} -->\n${source.text}\n`;
}

function headerOf({ table }: CsvSource): string {
  const header = hasAnnotations(table.header) ? table.header : [...annotationNames, ...table.header];
  return `${byteOrderMark}${toCsvRow(header, table.delimiter)}`;
}

function toLine(row: number, { table, cells, text }: CsvSource, fault: string): string {
  const { header, delimiter } = table;
  if (text === undefined)
    return toCsvRow([row, fault, ...(hasAnnotations(header) ? cells.slice(2) : cells)], delimiter);
  const line = /[\r\n]$/.test(text) ? text : `${text}\r\n`;
  return hasAnnotations(header) ? line : `${toCsvRow([row, fault], delimiter).trimEnd()}${delimiter}${line}`;
}

/** Whether the imported file is itself a file of rejected rows. */
function hasAnnotations(header: readonly string[]): boolean {
  return annotationNames.every((annotation, index) => header[index] === annotation);
}

/** Matches the annotations at the beginning of an object, as `toObject` writes them. */
const annotationPattern = /^\{\s*"# row"\s*:\s*[0-9]+\s*,\s*"# fault"\s*:\s*"(?:[^"\\]|\\.)*"\s*,?/;

/** Returns the object with annotations. Its members stay as text, because parsing can lose members, for example of two with the same name. */
function toObject(row: number, { text }: ItemSource, fault: string): string {
  const bare = text.replace(annotationPattern, "{");
  const isObject =
    bare.startsWith("{") && !annotationNames.some((annotation) => bare.includes(JSON.stringify(annotation)));
  if (!isObject) return text;
  const members = bare.slice(1).trimStart();
  const [rowAnnotation, errorAnnotation] = annotationNames;
  const written = JSON.stringify({ [rowAnnotation]: row, [errorAnnotation]: fault });
  return `${written.slice(0, -1)}${members === "}" ? "" : ","}${members}`;
}
