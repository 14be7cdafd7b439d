// Exports a resource's records in the formats that imports read.

import { byteOrderMark, csvHeader, csvLines, fieldNames, toCells } from "../../formats/csv.ts";
import { json } from "../../formats/json.ts";
import { writeWorkbook } from "../../formats/workbook/write-workbook.ts";
import { xml } from "../../formats/xml.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { findTextField, type Resource } from "../../model/resource.ts";
import type { FileFormat } from "../import/file-rows.ts";

/** Records per chunk. */
const chunkSize = 500;

interface ExportOptions {
  /** For CSV; by default a comma. */
  readonly delimiter?: string | undefined;
  /** Whether this becomes a file. Only then does CSV start with a byte order mark, because the next program in a pipe would take it for text. */
  readonly isFile?: boolean;
  /** The records to export, as JSON, such as those that a search finds (`readFound`). By default all of them, by ID. */
  readonly bodies?: AsyncIterable<string>;
}

/** Yields a file with a consistent snapshot of the records. `importRecords` reads it back unchanged. */
export async function* exportRecords(
  engine: Pick<Engine, "dump">,
  site: number,
  resource: Resource,
  format: FileFormat,
  options: ExportOptions = {},
): AsyncGenerator<string | Uint8Array> {
  const chunks = inChunks(options.bodies ?? bodiesOf(engine, site, resource));
  const yieldIfDue = createYielder();
  const content = {
    csv: () => toCsv(resource, chunks, options),
    json: () => toList(resource, chunks, json),
    xml: () => toList(resource, chunks, xml),
    xlsx: () => toWorkbook(resource, chunks),
  }[format]();
  for await (const part of content) {
    yield part;
    await yieldIfDue();
  }
}

/** The records as JSON, by ID, which is their order in a dump. */
async function* bodiesOf(engine: Pick<Engine, "dump">, site: number, { name }: Resource): AsyncGenerator<string> {
  for await (const { table, row } of engine.dump(site)) {
    if (table === "records" && row.resource === name && row.body !== null) yield row.body as string;
    // Don't read the journal, which comes next and is longer.
    else if (table !== "records" && table !== "sites") return;
  }
}

async function* toCsv(
  resource: Resource,
  chunks: AsyncIterable<readonly string[]>,
  { delimiter, isFile }: ExportOptions,
): AsyncGenerator<string> {
  yield (isFile ? byteOrderMark : "") + csvHeader(resource, delimiter);
  for await (const chunk of chunks) {
    yield csvLines(
      resource,
      chunk.map((body) => JSON.parse(body)),
      delimiter,
    );
  }
}

/** Narrower columns are hard to read, and in wider ones, the next column is off the screen. */
const [minWidth, maxWidth] = [12, 40];

function toWorkbook(resource: Resource, chunks: AsyncIterable<readonly string[]>): AsyncGenerator<Uint8Array> {
  const columns = fieldNames(resource).map((name) => {
    const length = findTextField(resource, name)?.field.max ?? 16;
    const width = Math.min(Math.max(length, name.length + 2, minWidth), maxWidth);
    return { name, width, isNumeric: name === "ID" };
  });
  const rows = async function* () {
    for await (const chunk of chunks) for (const body of chunk) yield toCells(resource, JSON.parse(body));
  };
  return writeWorkbook(resource.path, columns, rows());
}

/** Puts one record on each line, so that exports can be compared with `diff`. */
async function* toList(
  resource: Resource,
  chunks: AsyncIterable<readonly string[]>,
  { listStart, listEnd, separator, item }: typeof json,
): AsyncGenerator<string> {
  yield `${listStart}\n`;
  let before = "";
  for await (const chunk of chunks) {
    yield before + chunk.map((body) => item(resource, toDeclaredJson(resource, body))).join(`${separator}\n`);
    before = `${separator}\n`;
  }
  yield `${before === "" ? "" : "\n"}${listEnd}\n`;
}

async function* inChunks(bodies: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let chunk: string[] = [];
  for await (const body of bodies) {
    chunk.push(body);
    if (chunk.length < chunkSize) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
