// Examples, made from those of the fields, and written by the format as the server would.

import type { Fields } from "../model/field.ts";
import type { Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { WireFormat } from "./wire.ts";

/** A record of `resource` with its ID, as JSON text. */
export function exampleRecord(resource: Resource): string {
  return JSON.stringify({ ID: 1, ...exampleValues(resource.fields) });
}

/** The body that is answered with one record. */
export function exampleSingle(resource: Resource, format: WireFormat): unknown {
  return shown(format, documentOf(resource, format, exampleRecord(resource)));
}

/** The body that is answered with a list. */
export function exampleList(resource: Resource, format: WireFormat): unknown {
  return shown(format, format.listStart + format.item(resource, exampleRecord(resource)) + format.listEnd);
}

/** The body that creates a record. */
export function exampleNew(resource: Resource, format: WireFormat): unknown {
  if (format.name === "json") return exampleValues(resource.fields);
  return documentOf(resource, format, exampleRecord(resource)).replace(` ID="1"`, "");
}

/** The body that changes a field of a record. */
export function exampleChanges(resource: Resource, format: WireFormat): unknown {
  const [name, field] = Object.entries(resource.fields).find(([, { kind }]) => kind === "text") ?? [];
  const changes = { ID: 1, ...(name && field?.kind === "text" ? { [name]: `${field.example} Ltd` } : {}) };
  return shown(format, documentOf(resource, format, JSON.stringify(changes)));
}

/** The body that names a record and says nothing else of it. */
export function exampleName(resource: Resource, format: WireFormat): unknown {
  return shown(format, documentOf(resource, format, '{"ID":1}'));
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

/** JSON stands in the document as it is; any other format as a text. */
function shown({ name }: WireFormat, text: string): unknown {
  return name === "json" ? JSON.parse(text) : text;
}
