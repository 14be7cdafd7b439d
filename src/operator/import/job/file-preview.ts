// Previews an uploaded file: its format, encoding, columns and first rows.

import { columnLetter, readCsvRows } from "../../../formats/csv.ts";
import { decodeStart, decodeText, recognizeUnicode } from "../../../formats/text-encoding.ts";
import { ProblemError } from "../../../model/errors.ts";
import type { Resource } from "../../../model/resource.ts";
import type { FileFormat } from "../file-rows.ts";
import { guessFields } from "./column-guess.ts";
import type { Upload } from "./upload.ts";

interface UploadPreview {
  readonly format: FileFormat;
  /** This and the rest are only for CSV. */
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly columns?: readonly FileColumn[];
}

interface FileColumn {
  readonly letter: string;
  readonly name: string;
  readonly key: string;
  /** The field this column probably has (column-guess.ts), if any. */
  readonly field: string | undefined;
  /** Whether the column isn't simply named after the field. */
  readonly isGuessed: boolean;
  /** Cells from the first rows. */
  readonly samples: readonly string[];
}

const sampledRows = 5;
/** In characters. */
const maxSampleLength = 200;
const maxColumns = 1000;

/**
 * @param given what's already known
 * @throws ProblemError `bad-request` if the file can't be read with this encoding and delimiter
 */
export async function previewUpload(
  upload: Upload,
  resource: Resource,
  given: { readonly encoding?: string | undefined; readonly delimiter?: string | undefined } = {},
): Promise<UploadPreview> {
  const start = await firstBytes(upload);
  const format = formatOfText(decodeStart(start.subarray(0, 1000)));
  if (format !== "csv") return { format };
  // Windows programs in western Europe write windows-1252.
  const encoding = given.encoding ?? recognizeUnicode(start) ?? (upload.isUtf8 ? "utf-8" : "windows-1252");
  const { rows, delimiter } = await firstRows(upload, encoding, given.delimiter);
  const [header, ...others] = rows;
  if (!header) throw new ProblemError("bad-request", "the file is empty");
  if (header.length > maxColumns)
    throw new ProblemError("bad-request", `the file has more than ${maxColumns} columns; check its delimiter`);
  const columns = header.map((name, index) => ({
    letter: columnLetter(index),
    name,
    key: name.trim() === "" || header.indexOf(name) !== header.lastIndexOf(name) ? columnLetter(index) : name,
    samples: others.map((cells) => (cells[index] ?? "").slice(0, maxSampleLength)),
  }));
  const fields = guessFields(resource, columns);
  const withFields = columns.map((column, index) => ({ ...column, ...(fields[index] as (typeof fields)[number]) }));
  return { format, encoding, delimiter, columns: withFields };
}

async function firstBytes(upload: Upload): Promise<Buffer> {
  for await (const chunk of upload.read()) return Buffer.from(chunk);
  return Buffer.alloc(0);
}

function formatOfText(start: string): FileFormat {
  const first = /^[\ufeff\s]*([[{<])/.exec(start)?.[1];
  if (first === "<") return "xml";
  return first ? "json" : "csv";
}

async function firstRows(upload: Upload, encoding: string, givenDelimiter: string | undefined) {
  const rows: (readonly string[])[] = [];
  let delimiter = "";
  for await (const read of readCsvRows(decodeText(upload.read(), encoding), givenDelimiter)) {
    delimiter = read.delimiter;
    rows.push(...read.rows.map(({ cells }) => cells).slice(0, sampledRows + 1 - rows.length));
    if (rows.length > sampledRows) break;
  }
  return { rows, delimiter };
}
