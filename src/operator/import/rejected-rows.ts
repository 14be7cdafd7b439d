// Writes rejected rows to a file in the format of the imported one, so that an operator can fix and re-import it. Annotates each row with its number and
// errors, which imports ignore.

import { once } from "node:events";
import { PassThrough } from "node:stream";
import { byteOrderMark, toCsvRow } from "../../formats/csv.ts";
import { escapeXmlComment } from "../../formats/xml-elements.ts";
import type { FieldError } from "../../model/errors.ts";
import { requireFolder, writeFile } from "../files/atomic-file.ts";
import {
  annotationNames,
  type FileFormat,
  type ItemSource,
  type NumberedRow,
  type RowSource,
  type TableSource,
} from "./file-rows.ts";

interface RejectedRowsFile {
  /** @throws ProblemError `unavailable` if the file can't be written */
  add(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void>;
  /** Writes an empty file if no row was rejected. @throws ProblemError `unavailable` */
  close(): Promise<void>;
  /** Keeps what it can after a failed import. If no row was rejected, keeps the previous file. */
  closeAfterFailure(): Promise<void>;
}

/**
 * Any previous file is only replaced on closing.
 * @throws ProblemError `not-found` or `unavailable` if the file can't be created
 */
export function openRejectedRowsFile(file: string): RejectedRowsFile {
  requireFolder(file);
  let output: Output | undefined;
  let frame = { start: "", separator: "", end: "" };
  /** The last row with wrong quoting, which goes to the end, because an unclosed quote would swallow the rows after it. */
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
      if ("cells" in row.source && row.source.text !== undefined) [text, deferredRow] = [deferredRow, text];
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

/** Writes text as it arrives, and makes callers wait for the disk. */
function openOutput(file: string): Output {
  const lines = new PassThrough({ objectMode: true });
  const written = writeFile(file, lines);
  // The next call throws the error.
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

/** What goes before the first row, between rows, and after the last. */
interface FileFrame {
  readonly start: string;
  readonly separator: string;
  readonly end: string;
}

const frames: Record<FileFormat, FileFrame> = {
  csv: { start: "", separator: "", end: "" },
  xlsx: { start: "", separator: "", end: "" },
  json: { start: "[\n", separator: ",\n", end: "\n]\n" },
  xml: { start: '<?xml version="1.0" encoding="utf-8"?>\n<Results>\n', separator: "", end: "</Results>\n" },
};

/** @param source the first row */
function frameOf(source: RowSource): FileFrame {
  const frame = frames[source.format];
  if ("cells" in source) return { ...frame, start: headerOf(source) };
  return { ...frame, start: frame.start.replace("<Results", () => `<Results${source.declarations ?? ""}`) };
}

function formatRejectedRow({ number, source }: NumberedRow, fieldErrors: readonly FieldError[]): string {
  const fault = fieldErrors.map(({ field, detail }) => (field ? `${field}: ${detail}` : detail)).join("; ");
  if ("cells" in source) return toLine(number, source, fault);
  if (source.format === "json") return toObject(number, source, fault);
  return `<!-- row ${number}: ${escapeXmlComment(fault)} -->\n${source.text}\n`;
}

function headerOf({ table }: TableSource): string {
  const header = hasAnnotations(table.header) ? table.header : [...annotationNames, ...table.header];
  return `${byteOrderMark}${toCsvRow(header, table.delimiter)}`;
}

function toLine(row: number, { table, cells, text }: TableSource, fault: string): string {
  const { header, delimiter } = table;
  if (text === undefined)
    return toCsvRow([row, fault, ...(hasAnnotations(header) ? cells.slice(2) : cells)], delimiter);
  const line = /[\r\n]$/.test(text) ? text : `${text}\r\n`;
  return hasAnnotations(header) ? line : `${toCsvRow([row, fault], delimiter).trimEnd()}${delimiter}${line}`;
}

/** Whether the imported file itself had rejected rows in it. */
function hasAnnotations(header: readonly string[]): boolean {
  return annotationNames.every((annotation, index) => header[index] === annotation);
}

/** Matches annotations as `toObject` writes them. */
const annotationPattern = /^\{\s*"# row"\s*:\s*[0-9]+\s*,\s*"# fault"\s*:\s*"(?:[^"\\]|\\.)*"\s*,?/;

/** Adds annotations without parsing the object, because that could lose members, such as duplicates. */
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
