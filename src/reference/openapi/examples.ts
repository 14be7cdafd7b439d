// Examples, made from those of the fields, and written by the format as the server would.

import type { Fields } from "../../model/field.ts";
import type { Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { WireFormat } from "./interface.ts";

/** A record of `resource` with its ID, as JSON text. */
function exampleRecord(resource: Resource): string {
  return JSON.stringify({ ID: 1, ...exampleValues(resource.fields) });
}

/** The body that is answered with one record. */
export function exampleSingle(resource: Resource, format: WireFormat): unknown {
  return shownExample(format, documentOf(resource, format, exampleRecord(resource)));
}

/** The body that is answered with a list. */
export function exampleList(resource: Resource, format: WireFormat): unknown {
  return shownExample(format, format.listStart + format.item(resource, exampleRecord(resource)) + format.listEnd);
}

/** The body that creates a record. */
export function exampleNew(resource: Resource, format: WireFormat): unknown {
  if (format.name === "json") return exampleValues(resource.fields);
  return shownExample(format, documentOf(resource, format, exampleRecord(resource)).replace(` ID="1"`, ""));
}

/** The body that changes a field of a record. */
export function exampleChanges(resource: Resource, format: WireFormat): unknown {
  const [name, field] = Object.entries(resource.fields).find(([, { kind }]) => kind === "text") ?? [];
  const changes = { ID: 1, ...(name && field?.kind === "text" ? { [name]: `${field.example} Ltd` } : {}) };
  return shownExample(format, documentOf(resource, format, JSON.stringify(changes)));
}

/** The body that names a record and says nothing else of it. */
export function exampleName(resource: Resource, format: WireFormat): unknown {
  return shownExample(format, documentOf(resource, format, '{"ID":1}'));
}

function documentOf(resource: Resource, format: WireFormat, stored: string): string {
  return format.documentStart + format.item(resource, stored);
}

function exampleValues(fields: Fields): Values {
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    field.kind === "text" ? field.example : exampleValues(field.fields),
  ]);
  return Object.fromEntries(entries);
}

/** What `text` is as the `example` of its media type: JSON as it is, XML as a text, which tools show and send as it is. */
export function shownExample({ name }: WireFormat, text: string): unknown {
  return name === "json" ? JSON.parse(text) : indented(text);
}

/** XML as a person would write it: the server's has no white space between its elements. */
function indented(xml: string): string {
  let depth = 0;
  const lines = xml.replace(/>(?=<)/g, ">\n").split("\n");
  return lines
    .map((line) => {
      if (line.startsWith("</")) depth--;
      const indent = "  ".repeat(depth);
      if (/^<[^/?][^>]*>$/.test(line) && !line.endsWith("/>")) depth++;
      return indent + line;
    })
    .join("\n");
}
