import { csvHeader, csvLines } from "../formats/csv.ts";
import { json } from "../formats/json.ts";
import { xml } from "../formats/xml.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { createPace } from "../lib/pace.ts";
import type { Engine } from "../model/engine.ts";
import { toDeclared } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { FileFormat } from "./rows.ts";

const chunkSize = 500;

/** The file with all records of a resource, in chunks. `importRecords` reads it back unchanged. */
export async function* exportRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  format: FileFormat,
): AsyncGenerator<string> {
  const bodies = await bodiesOf(engine, site, resource);
  const pace = createPace();
  const chunked = format === "csv" ? toCsv(resource, bodies) : toList(resource, bodies, format === "json" ? json : xml);
  for (const chunk of chunked) {
    yield chunk;
    await pace();
  }
}

/** The records as JSON text, in the order of their IDs. */
function bodiesOf(engine: Pick<Engine, "readSite">, site: number, resource: Resource): MaybePromise<string[]> {
  return engine.readSite(site, async ({ portions }) => {
    const bodies: string[] = [];
    const pace = createPace();
    for await (const rows of portions) {
      await pace();
      for (const { resource: name, body } of rows) if (name === resource.name && body !== null) bodies.push(body);
    }
    return bodies;
  });
}

function* toCsv(resource: Resource, bodies: readonly string[]): Generator<string> {
  yield csvHeader(resource);
  for (const chunk of chunks(bodies)) {
    yield csvLines(
      resource,
      chunk.map((body) => JSON.parse(body)),
    );
  }
}

/** One record per line, so that two exports can be compared line by line. */
function* toList(resource: Resource, bodies: readonly string[], format: typeof json): Generator<string> {
  yield `${format.listStart}\n`;
  let written = 0;
  for (const chunk of chunks(bodies)) {
    const lines = chunk.map((body) => {
      const separator = ++written < bodies.length ? format.separator : "";
      return `${format.item(resource, toDeclared(resource, body))}${separator}\n`;
    });
    yield lines.join("");
  }
  yield `${format.listEnd}\n`;
}

function* chunks(bodies: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < bodies.length; start += chunkSize) yield bodies.slice(start, start + chunkSize);
}
