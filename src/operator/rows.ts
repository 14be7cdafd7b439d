// The rows of a file to import, one by one, in any format.

import { decodeText } from "../formats/charset.ts";
import { type CellPlan, decodeCsvLine, planColumns } from "../formats/csv.ts";
import { type CsvMapping, planMapping } from "../formats/csv-mapping.ts";
import { maxRowLength, readCsvRows } from "../formats/csv-rows.ts";
import type { Decoded } from "../formats/format.ts";
import { decodeJson } from "../formats/json.ts";
import { fromUtf8 } from "../formats/utf8.ts";
import { decodeList, decodeRecord, parseXml } from "../formats/xml-record.ts";
import { invalidRecord, Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

export const fileFormats = ["csv", "json", "xml"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** A row and its number: in CSV, that of a spreadsheet (the header is 1); otherwise its position in the list, from 1. */
export interface NumberedRow {
  readonly number: number;
  readonly decoded: Decoded;
  /** The row as it is in the file, if that is CSV. */
  readonly source?: CsvSource;
}

export interface CsvSource {
  readonly table: { readonly header: readonly string[]; readonly delimiter: string };
  readonly cells: readonly string[];
  /** The text of the row, if its quoting has a fault. */
  readonly text: string | undefined;
}

/** How a CSV file is written, where that differs from what `export` writes. */
export interface CsvOptions {
  /** What separates cells; by default found from the header row. */
  readonly delimiter?: string | undefined;
  /** The encoding of a file without a byte order mark; by default UTF-8. */
  readonly encoding?: string | undefined;
  /** Which column becomes which field; by default the columns have the names of the fields. */
  readonly mapping?: CsvMapping | undefined;
  /** Called for each row that the mapping leaves out. */
  readonly onSkipped?: (() => void) | undefined;
}

/**
 * Reads the rows of a file. CSV is read row by row, so that a file can have any size; JSON and XML are read into memory.
 * @throws Refusal `bad-request` or `invalid-record` when the file as a whole cannot be read
 */
export async function* readRows(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  options: CsvOptions = {},
): AsyncGenerator<NumberedRow> {
  if (format === "csv") yield* readCsv(resource, bytes, options);
  else {
    const whole = await gather(bytes);
    const decoded = format === "json" ? readJson(whole) : readXml(resource, whole);
    yield* decoded.map((item, index) => ({ number: index + 1, decoded: item }));
  }
}

async function* readCsv(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, encoding, mapping, onSkipped }: CsvOptions,
): AsyncGenerator<NumberedRow> {
  let plan: CellPlan | undefined;
  let table: CsvSource["table"] = { header: [], delimiter: "" };
  let number = 0;
  for await (const read of readCsvRows(decodeText(bytes, encoding), delimiter)) {
    if (!read) throw tooLong(number + 1);
    for (const { cells, fault } of read.rows) {
      number++;
      if (!plan) {
        plan = readHeader(resource, mapping, cells, fault?.detail);
        table = { header: cells, delimiter: read.delimiter };
      } else if (fault || cells.some((cell) => cell !== "")) {
        const decoded = fault
          ? { input: {}, faults: [{ field: "", detail: fault.detail }] }
          : decodeCsvLine(plan, cells);
        if (!decoded) onSkipped?.();
        else yield { number, decoded, source: { table, cells, text: fault?.text } };
      }
    }
  }
  if (!plan) throw new Refusal("bad-request", "the file is empty; the first line must name the columns");
}

function readHeader(
  resource: Resource,
  mapping: CsvMapping | undefined,
  cells: string[],
  fault: string | undefined,
): CellPlan {
  const [only = ""] = cells;
  if (/^\s*[[{<]/.test(only))
    throw new Refusal("bad-request", "the file is not CSV; add --format json or --format xml");
  if (only.includes("\0"))
    throw new Refusal("bad-request", "the file is not text in this encoding; for UTF-16, add --encoding utf-16le");
  const { plan, faults } = mapping ? planMapping(mapping, cells) : planColumns(resource, cells);
  if (fault) faults.push({ field: "", detail: fault });
  if (faults.length > 0) throw invalidRecord(faults);
  return plan;
}

function tooLong(row: number): Refusal {
  return new Refusal(
    "bad-request",
    `row ${row} is longer than ${maxRowLength} characters; a quote may be missing at the end of a cell`,
  );
}

function readJson(whole: Uint8Array): Decoded[] {
  const { input, faults } = decodeJson(fromUtf8(whole));
  if (faults.length > 0) throw invalidRecord(faults);
  return (Array.isArray(input) ? input : [input]).map((item) => ({ input: item, faults: [] }));
}

function readXml(resource: Resource, whole: Uint8Array): Decoded[] {
  const { root } = parseXml(whole);
  return root.name === resource.element ? [decodeRecord(resource, root)] : decodeList(resource, root);
}

async function gather(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
