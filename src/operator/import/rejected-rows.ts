// Writes rejected rows to a file in the format of the imported one, so that an operator can fix and re-import it. Annotates each row with its number and
// errors, which imports ignore.

import { once } from "node:events";
import { PassThrough } from "node:stream";
import { byteOrderMark, toCsvRow } from "../../formats/csv.ts";
import { maxCellLength, writeWorkbook } from "../../formats/workbook/write-workbook.ts";
import { escapeXmlComment } from "../../formats/xml-elements.ts";
import type { FieldError } from "../../model/errors.ts";
import { requireFolder, writeFile } from "../files/atomic-file.ts";
import {
  type FileFormat,
  formatOf,
  type ItemSource,
  type NumberedRow,
  type RowSource,
  type TableSource,
} from "./file-rows.ts";
import { annotationNames } from "./open-table.ts";

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
  const addText = async (row: NumberedRow, fault: string) => {
    const isFirst = !output;
    if (isFirst) frame = frameOf(row.source);
    output ??= openOutput(file, (texts) => texts);
    let text = formatRejectedRow(row, fault);
    if ("cells" in row.source && row.source.text !== undefined) [text, deferredRow] = [deferredRow, text];
    await output.write((isFirst ? frame.start : frame.separator) + text);
  };
  const close = async () => {
    output ??= openOutput(file, formatOf(file) === "xlsx" ? (rows) => toWorkbook([], rows) : (texts) => texts);
    await output.write(deferredRow + frame.end);
    await output.end();
  };
  return {
    async add(row, fieldErrors) {
      const fault = fieldErrors.map(({ field, detail }) => (field ? `${field}: ${detail}` : detail)).join("; ");
      const { source } = row;
      if (source.format !== "xlsx") return addText(row, fault);
      output ??= openOutput(file, (rows) => toWorkbook(source.table.header, rows));
      await output.write(toWorkbookRow(row.number, source, fault));
    },
    close,
    closeAfterFailure: async () => (output ? close().catch(() => {}) : undefined),
  };
}

type WorkbookRow = readonly (string | number)[];

interface Output {
  /** @param part a text, or a row of a workbook */
  write(part: string | WorkbookRow): Promise<void>;
  end(): Promise<void>;
}

/** Writes parts as they arrive, and makes callers wait for the disk. */
function openOutput(file: string, toContent: (parts: PassThrough) => AsyncIterable<string | Uint8Array>): Output {
  const parts = new PassThrough({ objectMode: true });
  const written = writeFile(file, toContent(parts));
  // The next call throws the error.
  written.catch((error) => parts.destroy(error));
  parts.on("error", () => {});
  return {
    async write(part) {
      if (parts.destroyed) await written;
      else if (part !== "" && !parts.write(part)) await once(parts, "drain").catch(() => written);
    },
    end() {
      parts.end();
      return written;
    },
  };
}

// Workbooks.

/** @param header of the imported table */
function toWorkbook(header: readonly string[], rows: AsyncIterable<WorkbookRow>): AsyncGenerator<Uint8Array> {
  const [row, fault] = annotationNames;
  const names = hasAnnotations(header) ? header.slice(annotationNames.length) : header;
  const columns = names.map((name) => ({ name: name.slice(0, maxCellLength), width: 20 }));
  return writeWorkbook(
    "rejected",
    [{ name: row, width: 8, isNumeric: true }, { name: fault, width: 60 }, ...columns],
    rows,
  );
}

/** Cuts cells that are too long for a workbook. No field is that long, so the row is rejected again until someone has replaced the cell. */
function toWorkbookRow(row: number, { table, cells }: TableSource, fault: string): WorkbookRow {
  const own = hasAnnotations(table.header) ? cells.slice(annotationNames.length) : cells;
  const note = own.some((cell) => cell.length > maxCellLength)
    ? "a cell of this row was too long and has been cut; "
    : "";
  return [row, ...[note + fault, ...own].map((cell) => cell.slice(0, maxCellLength))];
}

// Texts.

/** What goes before the first row, between rows, and after the last. */
interface FileFrame {
  readonly start: string;
  readonly separator: string;
  readonly end: string;
}

const frames: Record<Exclude<FileFormat, "xlsx">, FileFrame> = {
  csv: { start: "", separator: "", end: "" },
  json: { start: "[\n", separator: ",\n", end: "\n]\n" },
  xml: { start: '<?xml version="1.0" encoding="utf-8"?>\n<Results>\n', separator: "", end: "</Results>\n" },
};

/** @param source the first row */
function frameOf(source: RowSource): FileFrame {
  if ("cells" in source) return { ...frames.csv, start: headerOf(source) };
  const frame = frames[source.format];
  return { ...frame, start: frame.start.replace("<Results", () => `<Results${source.declarations ?? ""}`) };
}

function formatRejectedRow({ number, source }: NumberedRow, fault: string): string {
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
    return toCsvRow([row, fault, ...(hasAnnotations(header) ? cells.slice(annotationNames.length) : cells)], delimiter);
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
