// Exports the records of a resource in the formats that an import reads.

import { byteOrderMark, csvHeader, csvLines } from "../../formats/csv.ts";
import { json } from "../../formats/json.ts";
import { xml } from "../../formats/xml.ts";
import { createYielder } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { FileFormat } from "../import/file-rows.ts";

/** Records per chunk. */
const chunkSize = 500;

interface ExportOptions {
  /** The delimiter between the cells of CSV; by default a comma. */
  readonly delimiter?: string | undefined;
  /** Whether the text becomes a file, in which CSV begins with a byte order mark. The next program in a pipe would take the mark for text. */
  readonly isFile?: boolean;
}

/** Returns the file with all records of a resource, as of one moment, in chunks. `importRecords` reads it back unchanged. */
export async function* exportRecords(
  engine: Pick<Engine, "dump">,
  site: number,
  resource: Resource,
  format: FileFormat,
  options: ExportOptions = {},
): AsyncGenerator<string> {
  const chunks = inChunks(bodiesOf(engine, site, resource));
  const yieldIfDue = createYielder();
  const texts =
    format === "csv" ? toCsv(resource, chunks, options) : toList(resource, chunks, format === "json" ? json : xml);
  for await (const text of texts) {
    yield text;
    await yieldIfDue();
  }
}

/** Returns the records as JSON, in the order of their IDs: a dump has this order within a resource. */
async function* bodiesOf(engine: Pick<Engine, "dump">, site: number, { name }: Resource): AsyncGenerator<string> {
  for await (const { table, row } of engine.dump(site)) {
    if (table === "records" && row.resource === name && row.body !== null) yield row.body as string;
    // Stop here: the journal comes after the records, and is longer.
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

/** Writes one record per line, so that two exports can be compared line by line. */
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
