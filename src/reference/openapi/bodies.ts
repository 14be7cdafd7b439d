// Responses and request bodies of a resource in a format. Examples combine the fields' examples, encoded as the server encodes records.

import { type Format, formats, type Problem, statusOf } from "../../formats/format.ts";
import { documentOf } from "../../model/encoding.ts";
import { type ErrorCode, fault, problemTitles } from "../../model/errors.ts";
import type { Fields } from "../../model/field.ts";
import type { Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { type Form, type Schema, schemaName } from "../json-schema.ts";
import { headerRefs, headersOf, identifierOf, mediaType, nameIn, ref } from "./components.ts";

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
    description: "Not modified since the `ETag` in `If-None-Match`. No body.",
    headers: headerRefs([...headersOf.notModified, ...headers]),
  };
}

export function requestBody(resource: Resource, format: Format, form: Form, example: unknown, required = true): Schema {
  return { required, content: contentOf(format, ref("schemas", schemaName(resource, form)), example) };
}

export function exampleNew(resource: Resource, format: Format): unknown {
  if (format.name === "json") return exampleValues(resource.fields);
  return toExample(format, documentOf(format, resource, exampleJson(resource)).replace(` ID="1"`, ""));
}

/** An example body that changes one field. */
export function exampleChanges(resource: Resource, format: Format): unknown {
  const textField = resource.textFields.find(({ keys }) => keys.length === 1);
  const changes = textField && { [textField.path]: `${textField.field.example} Ltd` };
  return toExample(format, documentOf(format, resource, JSON.stringify({ ID: 1, ...changes })));
}

/** An example body with only the ID. */
export function exampleId(resource: Resource, format: Format): unknown {
  return toExample(format, documentOf(format, resource, '{"ID":1}'));
}

/** A value for JSON, indented text for XML. */
export function toExample({ name }: Format, text: string): unknown {
  return name === "json" ? JSON.parse(text) : indented(text);
}

export function contentOf(format: Format, schema: Schema, example: unknown): Schema {
  return { [mediaType(format.contentType)]: { schema, [exampleMember(format, "example")]: example } };
}

/**
 * An XML example is text, but the schema describes a value, so linters would complain. For XML, we use an extension instead, and tools derive an example from
 * the schema and its keyword `xml`.
 */
export function exampleMember({ name }: Format, member: "example" | "examples"): string {
  return name === "json" ? member : `x-${member}`;
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

/** The server writes XML without white space between elements. */
function indented(xml: string): string {
  let depth = 0;
  const lines = xml
    .replace(/>(?=<)/g, ">\n")
    .replace(/<(\w+)>\n<\/\1>/g, "<$1></$1>")
    .split("\n");
  return lines
    .map((line) => {
      if (line.startsWith("</")) depth--;
      const indent = "  ".repeat(depth);
      if (/^<[^/?][^>]*>$/.test(line) && !line.endsWith("/>")) depth++;
      return indent + line;
    })
    .join("\n");
}

// Errors: one response per status and format, with an example of each problem type with that status.

const codes = Object.keys(problemTitles) as ErrorCode[];

/** Examples of `detail`. */
const details: Record<ErrorCode, string> = {
  "bad-request": "`limit` must be a whole number from 1 to 1000, not `0`",
  "invalid-record": "`name`: unknown field; did you mean `Name`? (and 1 more)",
  "ambiguous-id":
    'no record given: put its ID in the path (`/restapi/brands/12.json`), the body (`{"ID": 12, ...}`) or the query (`/restapi/brands.json?ID=12`)',
  unauthorized: "the request has no X-API-AUTH header; send your API key (`sfk_...`) in it",
  forbidden:
    "this API key doesn't have the right `brands:write`; use one that has it, or ask the site's operator to add it",
  "site-suspended": "this site is suspended",
  "not-found": "there is no brand with the ID 12",
  "method-not-allowed": "locations are read-only",
  "request-timeout": "only 16 of the 20 bytes declared by Content-Length arrived in time",
  conflict: "a request with this Idempotency-Key is still running",
  gone: "the change at the cursor `1f0c63d9a2be.18` has been pruned; start over: request `since=now`, read the lists, then continue from that page's `Next`",
  "precondition-failed": "the brand 12 has changed since; read it again",
  "too-large": "the body has more than 1048576 bytes",
  "head-too-large":
    "the request line and headers have more than 16384 bytes together; send fewer or shorter headers, or a shorter URL",
  "unsupported-media-type": "the charset `latin1` isn't supported; send UTF-8",
  "wrong-site": "no site has the host `other.example`",
  "idempotency-key-reused": "this Idempotency-Key was used for a different request; use a new one for each request",
  "too-many-requests": "this API key is limited to 50 requests per second",
  "not-implemented": "unknown method `FETCH`; methods are case-sensitive",
  internal: "see the server's log for details of request k3J9aZ0q1",
  unavailable: "the storage isn't responding; try again, repeating a write with the same Idempotency-Key",
};

const faults = [
  { field: "name", ...fault("unknown-field", "; did you mean `Name`?") },
  { field: "Address.Country", ...fault("invalid-country", " for Germany", { suggestion: "DE" }) },
];

/** In addition to `headersOf.problem`. */
const extraHeaders: Partial<Record<ErrorCode, readonly string[]>> = {
  unauthorized: ["WWW-Authenticate"],
  "method-not-allowed": ["Allow"],
  conflict: ["Retry-After"],
  "too-many-requests": ["Retry-After"],
  "unsupported-media-type": ["Accept-Encoding"],
  unavailable: ["Retry-After"],
};

/** Problems that all operations with a key have in common. */
export const commonProblems: readonly ErrorCode[] = [
  "bad-request",
  "unauthorized",
  "forbidden",
  "site-suspended",
  "wrong-site",
  "too-many-requests",
  "head-too-large",
  "request-timeout",
  "internal",
  "unavailable",
];

/** The `responses` of an operation that can have these problems, by status. */
export function problemRefs(wanted: readonly ErrorCode[], format: Format): Record<number, Schema> {
  return Object.fromEntries(wanted.map((code) => [statusOf(code), ref("responses", responseName(code, format))]));
}

/** `components.responses`: one per status and format. */
export function problemResponses(): Record<string, Schema> {
  // Only unknown methods get `not-implemented`, so no operation has it.
  const ofOperations = codes.filter((code) => code !== "not-implemented");
  return Object.fromEntries(
    formats.flatMap((format) =>
      ofOperations.map((code) => [responseName(code, format), problemResponse(code, format)]),
    ),
  );
}

/** Codes with the same status share a response. */
function codesLike(code: ErrorCode): readonly ErrorCode[] {
  return codes.filter((other) => statusOf(other) === statusOf(code));
}

/** The first code with a status names its response. */
function responseName(code: ErrorCode, format: Format): string {
  const [first = code] = codesLike(code);
  return nameIn(format, identifierOf(first));
}

function problemResponse(code: ErrorCode, format: Format): Schema {
  const same = codesLike(code);
  const examples = same.map((one) => [
    one,
    { summary: problemTitles[one], value: toExample(format, format.problem(exampleProblem(one))) },
  ]);
  return {
    description: same.map((one) => `[${problemTitles[one]}](/docs/problems/${one}).`).join(" "),
    headers: headerRefs([...(extraHeaders[code] ?? []), ...headersOf.problem]),
    content: {
      [format.problemType]: {
        schema: ref("schemas", "Problem"),
        [exampleMember(format, "examples")]: Object.fromEntries(examples),
      },
    },
  };
}

function exampleProblem(code: ErrorCode): Problem {
  return {
    type: `/docs/problems/${code}`,
    title: problemTitles[code],
    status: statusOf(code),
    detail: details[code],
    instance: "k3J9aZ0q1",
    ...(code === "invalid-record" ? { errors: faults } : {}),
  };
}
