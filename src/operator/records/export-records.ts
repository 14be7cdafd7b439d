// Exports a resource's records in the formats that imports read.

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
  /** For CSV; by default a comma. */
  readonly delimiter?: string | undefined;
  /** Whether this becomes a file. Only then does CSV start with a byte order mark, because the next program in a pipe would take it for text. */
  readonly isFile?: boolean;
}

/** Yields a file with a consistent snapshot of all records. `importRecords` reads it back unchanged. */
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
