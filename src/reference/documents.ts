// This folder describes the interface: for programs as OpenAPI (openapi/), JSON Schema (json-schema.ts) and XML Schema (xsd.ts), for people as the
// guide and the reference at /docs (pages/). All of it derives from the declarations of the resources, the formats, the error codes, and the
// Markdown files of docs/. Each part is a function that returns text; this file lists the paths, and http/pages.ts serves them. `npm run openapi`
// writes the documents that are committed (scripts/).

import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { type Schema, schemaDocument } from "./json-schema.ts";
import { toOpenapi } from "./openapi/document.ts";
import { renderPages } from "./pages/guide.ts";
import { htmlType, pagePolicy, pageScript } from "./pages/layout.ts";
import { referencePage, referencePolicy, referenceScript, scalar } from "./pages/scalar.ts";
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
}

const javascript = "text/javascript; charset=utf-8";
const xml = "application/xml; charset=utf-8";

/** The pages, their scripts and the documents, by path. The start page is not among them, because it depends on the request. */
export function servedFiles(resources: readonly Resource[]): Map<string, ServedFile> {
  const served = servedOf(resources);
  const openapi = () => toOpenapi(served);
  const pages = [...renderPages()].map(([path, make]): [string, ServedFile] => [
    path,
    { type: htmlType, make, policy: pagePolicy },
  ]);
  const schemas = served.map((resource): [string, ServedFile] => [
    `/schemas/${resource.name}.json`,
    { type: "application/schema+json; charset=utf-8", make: () => toText(schemaDocument(resource)) },
  ]);
  return new Map<string, ServedFile>([
    ["/docs", { type: htmlType, make: () => referencePage, policy: referencePolicy }],
    ["/docs/assets/page.js", { type: javascript, make: () => pageScript }],
    ["/docs/assets/reference.js", { type: javascript, make: () => referenceScript }],
    [scalar.path, { type: javascript, make: () => Bun.file(scalar.file).bytes(), isVersioned: true }],
    ["/openapi.json", { type: "application/json; charset=utf-8", make: () => toText(openapi()) }],
    ["/openapi.yaml", { type: "application/yaml; charset=utf-8", make: () => Bun.YAML.stringify(openapi(), null, 2) }],
    ["/schemas/storefront.xsd", { type: xml, make: () => toXsd(served) }],
    ["/schemas/problem.xsd", { type: xml, make: toProblemXsd }],
    ...schemas,
    ...pages,
  ]);
}

function toText(document: Schema): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
