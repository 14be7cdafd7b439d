// This folder describes the interface: for programs as OpenAPI (openapi/), JSON Schema (json-schema.ts) and XML Schema (xsd.ts), for people as the
// guide and the reference at /docs (pages/). All of it derives from the declarations of the resources, the formats, the error codes, and the
// Markdown files of docs/. Each part is a function that returns text; this file lists the paths, and http/pages.ts serves them. `npm run openapi`
// writes the documents that are committed (scripts/).

import { formats } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { otherSlices, type Steps } from "../lib/slices.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { clientPackage, requestFiles, staticFiles } from "./downloads.ts";
import { feedSchemaDocument } from "./feed-schema.ts";
import { type Schema, schemaDocument } from "./json-schema.ts";
import { toOpenapi } from "./openapi/document.ts";
import { documentInFormat, type OpenapiDocument } from "./openapi/reading.ts";
import { assets } from "./pages/assets.ts";
import { renderPages } from "./pages/guide.ts";
import { formsPolicy, htmlType, pagePolicy } from "./pages/layout.ts";
import { referencePage } from "./pages/reference.ts";
import { toProblemXsd, toXsd } from "./xsd.ts";

export interface ServedFile {
  /** `Content-Type`. */
  readonly type: string;
  /** Called on the first request. The content stays the same as long as the program runs. */
  readonly make: () => MaybePromise<Uint8Array | string>;
  /** `Content-Security-Policy`. */
  readonly policy?: string;
  /** Whether the path names the version, so that caches never have to ask again. */
  readonly isVersioned?: boolean;
  /** Whether the content is compressed already. */
  readonly isCompressed?: boolean;
}

const schemaType = "application/schema+json; charset=utf-8";
const xml = "application/xml; charset=utf-8";

/**
 * The pages, their scripts and the documents, by path; where a query chooses between documents, by path and query.
 * What depends on the request is not among them: the start page, and the requests for tools.
 */
export function servedFiles(resources: readonly Resource[]): Map<string, ServedFile> {
  const served = servedOf(resources);
  const linked = ["/docs", "/docs/client.tgz", ...requestFiles.keys(), ...staticFiles.keys()];
  const pages = [...renderPages(linked)].map(([path, make]): [string, ServedFile] => [
    path,
    { type: htmlType, make: () => otherSlices(make()), policy: pagePolicy },
  ]);
  const reference = () => otherSlices(referenceOf(served));
  return new Map<string, ServedFile>([
    ["/docs", { type: htmlType, make: reference, policy: formsPolicy }],
    ...openapiFiles(served),
    ...schemaFiles(served),
    ...pages,
    ...assets.map(({ path, type, content }) => [path, { type, make: () => content, isVersioned: true }] as const),
    ...[...staticFiles].map(([path, { type, text }]) => [path, { type, make: () => text }] as const),
    ["/docs/client.tgz", { type: "application/gzip", make: clientPackage, isCompressed: true }],
  ]);
}

function* referenceOf(served: readonly Resource[]): Steps<string> {
  return yield* referencePage(yield* toOpenapi(served));
}

/** The document, as JSON and as YAML, whole or with the operations of one format. */
function openapiFiles(served: readonly Resource[]): [string, ServedFile][] {
  const toYaml = (document: Schema) => Bun.YAML.stringify(document, null, 2);
  const kinds = [
    ["/openapi.json", "application/json; charset=utf-8", toText],
    ["/openapi.yaml", "application/yaml; charset=utf-8", toYaml],
  ] as const;
  return kinds.flatMap(([path, type, write]): [string, ServedFile][] => [
    [path, { type, make: () => otherSlices(openapiText(served, write)) }],
    ...formats.map(({ name }): [string, ServedFile] => [
      `${path}?format=${name}`,
      { type, make: () => otherSlices(openapiText(served, write, name)) },
    ]),
  ]);
}

/** @param format the only format that it has; all of them by default */
function* openapiText(
  served: readonly Resource[],
  write: (document: Schema) => string,
  format?: string,
): Steps<string> {
  const document = yield* toOpenapi(served);
  yield;
  const chosen = format === undefined ? document : documentInFormat(document as OpenapiDocument, format);
  yield;
  return write(chosen);
}

function schemaFiles(served: readonly Resource[]): [string, ServedFile][] {
  const schemas = served.map((resource): [string, ServedFile] => [
    `/schemas/${resource.name}.json`,
    { type: schemaType, make: () => toText(schemaDocument(resource)) },
  ]);
  return [
    ["/schemas/storefront.xsd", { type: xml, make: () => toXsd(served) }],
    ["/schemas/problem.xsd", { type: xml, make: toProblemXsd }],
    ...schemas,
    ["/schemas/changes.json", { type: schemaType, make: () => toText(feedSchemaDocument(served)) }],
  ];
}

function toText(document: Schema): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
