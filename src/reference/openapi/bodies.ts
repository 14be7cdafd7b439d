// Responses and request bodies of a resource in a format. Their examples are the examples of the fields, encoded as the server encodes records.

import type { Format } from "../../formats/format.ts";
import { documentOf } from "../../model/encoding.ts";
import type { Fields } from "../../model/field.ts";
import type { Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { type Form, type Schema, schemaName } from "../json-schema.ts";
import { mediaType, ref } from "./components.ts";
import { headerRefs, headersOf } from "./headers.ts";

export function listResponse(resource: Resource, format: Format, description: string): Schema {
  const items = ref("schemas", schemaName(resource, "whole"));
  const xml = format.name === "xml" ? { xml: { name: "Results", wrapped: true } } : {};
  const schema = { type: "array", items, ...xml };
  const list = format.listStart + format.item(resource, exampleJson(resource)) + format.listEnd;
  const content = contentOf(format, schema, toExample(format, list));
  return { description, headers: headerRefs(headersOf.list), content };
}

export function recordResponse(
  resource: Resource,
  format: Format,
  description: string,
  headers: readonly string[],
): Schema {
  const schema = ref("schemas", schemaName(resource, "whole"));
  const example = toExample(format, documentOf(format, resource, exampleJson(resource)));
  return { description, headers: headerRefs(headers), content: contentOf(format, schema, example) };
}

export function notModifiedResponse(headers: readonly string[]): Schema {
  return {
    description: "Not modified since the `ETag` in `If-None-Match`. There is no body.",
    headers: headerRefs([...headersOf.notModified, ...headers]),
  };
}

export function requestBody(resource: Resource, format: Format, form: Form, example: unknown, required = true): Schema {
  return { required, content: contentOf(format, ref("schemas", schemaName(resource, form)), example) };
}

/** A request body that creates a record. */
export function exampleNew(resource: Resource, format: Format): unknown {
  if (format.name === "json") return exampleValues(resource.fields);
  return toExample(format, documentOf(format, resource, exampleJson(resource)).replace(` ID="1"`, ""));
}

/** A request body that changes one field of a record. */
export function exampleChanges(resource: Resource, format: Format): unknown {
  const leaf = resource.leaves.find(({ keys }) => keys.length === 1);
  const changes = leaf && { [leaf.path]: `${leaf.field.example} Ltd` };
  return toExample(format, documentOf(format, resource, JSON.stringify({ ID: 1, ...changes })));
}

/** A request body with nothing but the ID of a record. */
export function exampleId(resource: Resource, format: Format): unknown {
  return toExample(format, documentOf(format, resource, '{"ID":1}'));
}

/** The `example` of a media type: a value in JSON, an indented text in XML. Tools show and send XML as it is. */
export function toExample({ name }: Format, text: string): unknown {
  return name === "json" ? JSON.parse(text) : indented(text);
}

export function contentOf({ contentType }: Format, schema: Schema, example: unknown): Schema {
  return { [mediaType(contentType)]: { schema, example } };
}

export function exampleJson(resource: Resource): string {
  return JSON.stringify({ ID: 1, ...exampleValues(resource.fields) });
}

function exampleValues(fields: Fields): Values {
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    field.kind === "text" ? field.example : exampleValues(field.fields),
  ]);
  return Object.fromEntries(entries);
}

/** Indents XML, which the server writes without white space between elements and without empty-element tags. */
function indented(xml: string): string {
  let depth = 0;
  const lines = xml.replace(/>(?=<)/g, ">\n").split("\n");
  return lines
    .map((line) => {
      if (line.startsWith("</")) depth--;
      const indent = "  ".repeat(depth);
      if (/^<[^/?][^>]*>$/.test(line)) depth++;
      return indent + line;
    })
    .join("\n");
}
