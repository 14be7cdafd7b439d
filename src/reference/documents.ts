// Lists the documents that describe the interface: path, content type, and the function that makes the content.
//
// Programs read OpenAPI (openapi/), JSON Schema (json-schema.ts) and XML Schema (xsd.ts). People read the guide and the reference at /docs (pages/).
// All documents derive from the declarations of the resources, the formats, the error codes, and the Markdown files of docs/.
// http/documentation-pages.ts serves them. `npm run openapi` writes the documents that are committed (scripts/).

import alerts from "../../docs/alerts.yml" with { type: "text" };
import prestashopManufacturers from "../../docs/mappings/prestashop-manufacturers.json" with { type: "text" };
import prestashopOrderStates from "../../docs/mappings/prestashop-order-states.json" with { type: "text" };
import prestashopStores from "../../docs/mappings/prestashop-stores.json" with { type: "text" };
import shopifyBrands from "../../docs/mappings/shopify-brands.json" with { type: "text" };
import shopifyLocations from "../../docs/mappings/shopify-locations.json" with { type: "text" };
import spreadsheetLocations from "../../docs/mappings/spreadsheet-locations.json" with { type: "text" };
import woocommerceBrands from "../../docs/mappings/woocommerce-brands.json" with { type: "text" };
import postman from "../../docs/postman.json" with { type: "text" };
import httpFile from "../../docs/storefront.http" with { type: "text" };
import jetbrainsHttpFile from "../../docs/storefront-jetbrains.http" with { type: "text" };
import curlExample from "../../examples/curl.sh" with { type: "text" };
import javascriptExample from "../../examples/javascript.mjs" with { type: "text" };
import phpExample from "../../examples/php.php" with { type: "text" };
import pythonExample from "../../examples/python.py" with { type: "text" };
import csharpExample from "../../examples/Storefront.cs" with { type: "text" };
import javaExample from "../../examples/Storefront.java" with { type: "text" };
import webhookJavascript from "../../examples/webhook.mjs" with { type: "text" };
import webhookPhp from "../../examples/webhook.php" with { type: "text" };
import webhookPython from "../../examples/webhook.py" with { type: "text" };
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type Steps, slices } from "../lib/slices.ts";
import { ProblemError } from "../model/errors.ts";
import { publicResources, type Resource } from "../model/resource.ts";
import { batchSchemaDocument } from "./batch-schema.ts";
import { type ClientPackage, unversionedClientPath } from "./client-package.ts";
import { feedSchemaDocument, type Schema, schemaDocument } from "./json-schema.ts";
import { toOpenapi } from "./openapi/document.ts";
import { openapiFiles } from "./openapi/variants.ts";
import { guidePages, renderPages } from "./pages/guide.ts";
import { assets, formsPolicy, htmlType } from "./pages/layout.ts";
import { exampleAddress } from "./pages/markdown.ts";
import { llmsText, markdownPages } from "./pages/markdown-pages.ts";
import { referencePage } from "./pages/reference.ts";
import { toProblemXsd, toXsd } from "./xsd.ts";

export interface ServedFile {
  /** `Content-Type`. */
  readonly type: string;
  /** Called on the first request. The content stays the same as long as the program runs. */
  readonly make: () => MaybePromise<Uint8Array | string>;
  /** `Content-Security-Policy`. */
  readonly policy?: string;
  /** Whether the path contains a digest of the content, so that caches need not revalidate it. */
  readonly isVersioned?: boolean;
  /** Whether the content is already compressed. */
  readonly isCompressed?: boolean;
}

const schemaType = "application/schema+json; charset=utf-8";
const xml = "application/xml; charset=utf-8";

/**
 * Returns the pages, their scripts and the documents, by path. If a query selects a document, the key is path and query. The start page and the
 * files of `filesWithAddress` are not included, because their content depends on the request.
 * @param client undefined if it was not built
 */
export function servedFiles(resources: readonly Resource[], client?: ClientPackage): Map<string, ServedFile> {
  const served = publicResources(resources);
  const pages = [...renderPages(isServed, client)].map(([path, { render, policy }]): [string, ServedFile] => [
    path,
    { type: htmlType, make: () => slices.runOthers(render()), policy },
  ]);
  const reference = () => slices.runOthers(referenceOf(served));
  return new Map<string, ServedFile>([
    ["/docs", { type: htmlType, make: reference, policy: formsPolicy }],
    ...openapiFiles(served),
    ...schemaFiles(served),
    ...pages,
    ...assets.map(({ path, type, content }) => [path, { type, make: () => content, isVersioned: true }] as const),
    ...[...staticFiles].map(([path, { type, text }]) => [path, { type, make: () => text }] as const),
    ...clientFiles(client),
  ]);
}

function* referenceOf(served: readonly Resource[]): Steps<string> {
  return yield* referencePage(yield* toOpenapi(served));
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
    ["/schemas/batch.json", { type: schemaType, make: () => toText(batchSchemaDocument(served)) }],
  ];
}

function toText(document: Schema): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

// Files to download. For integrators: example programs, request files for tools, and the client as an npm package. For operators: the files that the
// manual names.

const source = (name: string) => `text/x-${name}; charset=utf-8`;
const json = "application/json; charset=utf-8";

/** Content type and text, by path under /docs. The text is `unknown` because the compiler gives an imported JSON file the type of its content. */
const files: Readonly<Record<string, readonly [type: string, text: unknown]>> = {
  "examples/curl.sh": [source("shellscript"), curlExample],
  "examples/python.py": [source("python"), pythonExample],
  "examples/javascript.mjs": ["text/javascript; charset=utf-8", javascriptExample],
  "examples/php.php": [source("php"), phpExample],
  "examples/Storefront.java": [source("java"), javaExample],
  "examples/Storefront.cs": [source("csharp"), csharpExample],
  "examples/webhook.mjs": ["text/javascript; charset=utf-8", webhookJavascript],
  "examples/webhook.php": [source("php"), webhookPhp],
  "examples/webhook.py": [source("python"), webhookPython],
  "alerts.yml": ["application/yaml; charset=utf-8", alerts],
  "mappings/prestashop-manufacturers.json": [json, prestashopManufacturers],
  "mappings/prestashop-order-states.json": [json, prestashopOrderStates],
  "mappings/prestashop-stores.json": [json, prestashopStores],
  "mappings/shopify-brands.json": [json, shopifyBrands],
  "mappings/shopify-locations.json": [json, shopifyLocations],
  "mappings/spreadsheet-locations.json": [json, spreadsheetLocations],
  "mappings/woocommerce-brands.json": [json, woocommerceBrands],
};

export interface Download {
  /** `Content-Type`. */
  readonly type: string;
  readonly text: string;
}

/** The files that are the same on every server, by path. */
const staticFiles: ReadonlyMap<string, Download> = new Map(
  Object.entries(files).map(([name, [type, text]]) => [`/docs/${name}`, { type, text: String(text) }]),
);

/** Request files for tools, by path. Each function replaces the example URL by the URL of this server. */
const requestFiles: ReadonlyMap<string, (address: string) => Download> = new Map([
  ["/docs/postman.json", toRequests(json, postman)],
  ["/docs/storefront.http", toRequests("text/plain; charset=utf-8", httpFile)],
  ["/docs/storefront-jetbrains.http", toRequests("text/plain; charset=utf-8", jetbrainsHttpFile)],
]);

const servedPaths: ReadonlySet<string> = new Set([
  "/docs",
  unversionedClientPath,
  ...requestFiles.keys(),
  ...staticFiles.keys(),
  ...guidePages.map(({ path }) => path),
]);

/** Returns whether a path under /docs is a page or a download, to which pages can link. */
function isServed(path: string): boolean {
  return servedPaths.has(path);
}

/**
 * Returns the files that contain the URL of the server, by path: request files, the pages as Markdown, `/llms.txt`. Each function takes the URL.
 * @param client undefined if it was not built
 */
export function filesWithAddress(
  resources: readonly Resource[],
  client?: ClientPackage,
): Map<string, (address: string) => Download> {
  const served = publicResources(resources);
  const pages = [...markdownPages(isServed, client)].map(([path, make]): [string, (address: string) => Download] => [
    path,
    (address) => ({ type: "text/markdown; charset=utf-8", text: make(address) }),
  ]);
  const llms = (address: string) => ({ type: "text/plain; charset=utf-8", text: llmsText(served, address) });
  return new Map([...requestFiles, ...pages, ["/llms.txt", llms]]);
}

/** Returns the package of the client, at the path with its version, and at the path without one. */
function clientFiles(client: ClientPackage | undefined): [string, ServedFile][] {
  const type = "application/gzip";
  if (!client) return [[unversionedClientPath, { type, make: throwClientMissing }]];
  const file = { type, make: () => client.bytes, isCompressed: true };
  return [
    [unversionedClientPath, file],
    [client.path, { ...file, isVersioned: true }],
  ];
}

function throwClientMissing(): never {
  throw new ProblemError("not-found", clientMissing);
}

const clientMissing = "this checkout has not built the client; its operator can run `npm run client`";

/** Returns the detail of the problem for a path that this server does not have. */
export function missingPathDetail(path: string, client: ClientPackage | undefined): string {
  if (!/^\/docs\/client-[^/]+\.tgz$/.test(path)) return "there is no such page; `/docs/guide` lists the pages";
  if (!client) return clientMissing;
  return `this server has another version of the client, ${client.version}, at \`${client.path}\``;
}

function toRequests(type: string, text: unknown) {
  return (address: string): Download => ({ type, text: String(text).replaceAll(exampleAddress, address) });
}
