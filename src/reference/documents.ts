// Renders everything that describes the interface, all at once, in its own thread (http/documentation-worker.ts). http/documentation.ts serves it.
//
// Programs read OpenAPI (openapi/), JSON Schema (json-schema.ts) and XML Schema (xsd.ts); people read the guide and the reference at /docs (pages/). All of it
// derives from the resources' declarations, the formats, the error codes and the Markdown files in docs/. `npm run openapi` writes the documents that
// are committed.

import alerts from "../../docs/alerts.yml" with { type: "text" };
import prestashopManufacturers from "../../docs/mappings/prestashop-manufacturers.json" with { type: "text" };
import prestashopOrderStates from "../../docs/mappings/prestashop-order-states.json" with { type: "text" };
import prestashopStores from "../../docs/mappings/prestashop-stores.json" with { type: "text" };
import shopifyBrands from "../../docs/mappings/shopify-brands.json" with { type: "text" };
import shopifyLocations from "../../docs/mappings/shopify-locations.json" with { type: "text" };
import spreadsheetLocations from "../../docs/mappings/spreadsheet-locations.json" with { type: "text" };
import woocommerceBrands from "../../docs/mappings/woocommerce-brands.json" with { type: "text" };
import postman from "../../docs/postman.json" with { type: "text" };
import sitesSchema from "../../docs/sites.schema.json" with { type: "text" };
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
import { publicResources, type Resource } from "../model/resource.ts";
import { batchSchemaDocument } from "./batch-schema.ts";
import { type ClientPackage, unversionedClientPath } from "./client-package.ts";
import { feedSchemaDocument, type Schema, schemaDocument } from "./json-schema.ts";
import { keySchemaDocument } from "./key-schema.ts";
import { toOpenapi } from "./openapi/document.ts";
import { documentInFormat, type OpenapiDocument } from "./openapi/document-reader.ts";
import { toOpenapi30 } from "./openapi/openapi-30.ts";
import { openapiKey, openapiPaths, openapiVariants } from "./openapi/variants.ts";
import { guidePages, renderPages } from "./pages/guide.ts";
import { homePage } from "./pages/home.ts";
import { addressPlaceholder, assets, formsPolicy, htmlType, pagePolicy } from "./pages/layout.ts";
import { exampleAddress } from "./pages/markdown.ts";
import { llmsFullText, llmsText, markdownPages } from "./pages/markdown-pages.ts";
import { referencePage } from "./pages/reference.ts";
import { toProblemXsd, toXsd } from "./xsd.ts";

export interface ServedFile {
  /** `Content-Type`. */
  readonly type: string;
  readonly content: Uint8Array | string;
  /** `Content-Security-Policy`. */
  readonly policy?: string;
  /** Whether the path contains a digest of the content, so that caches don't have to revalidate it. */
  readonly isVersioned?: boolean;
  /** Whether the content is already compressed. */
  readonly isCompressed?: boolean;
  /** Whether the content has `addressPlaceholder` in place of the server's URL as the client sees it. */
  readonly hasAddress?: boolean;
}

const schemaType = "application/schema+json; charset=utf-8";
const xml = "application/xml; charset=utf-8";

/**
 * Renders all pages, scripts and documents, by path, and OpenAPI's variants by `openapiKey`.
 * @param client undefined if it wasn't built
 * @param contact the operator's `mailto:` or `https:` URL
 */
export function renderFiles(
  resources: readonly Resource[],
  client?: ClientPackage,
  contact?: string,
): Map<string, ServedFile> {
  const served = publicResources(resources);
  const openapi = toOpenapi(served, contact);
  const markdown = markdownPages(isServed, client);
  const text = "text/plain; charset=utf-8";
  return new Map<string, ServedFile>([
    ["/", withAddress(htmlType, homePage(served, addressPlaceholder, client?.path ?? unversionedClientPath, contact))],
    ["/docs", { type: htmlType, content: referencePage(openapi), policy: formsPolicy }],
    ...openapiFiles(openapi as OpenapiDocument),
    ...schemaFiles(served),
    ...[...renderPages(isServed, client)].map(([path, content]): [string, ServedFile] => [
      path,
      { type: htmlType, content, policy: pagePolicy },
    ]),
    ...assets.map(({ path, type, content }) => [path, { type, content, isVersioned: true }] as const),
    ...Object.entries(files).map(([name, [type, text]]): [string, ServedFile] => [
      `/docs/${name}`,
      { type, content: String(text) },
    ]),
    ...Object.entries(requestFiles).map(([path, [type, text]]): [string, ServedFile] => [
      path,
      withAddress(type, String(text).replaceAll(exampleAddress, addressPlaceholder)),
    ]),
    ...[...markdown].map(([path, page]): [string, ServedFile] => [
      path,
      withAddress("text/markdown; charset=utf-8", page),
    ]),
    ["/llms.txt", withAddress(text, llmsText(served, contact))],
    ["/llms-full.txt", withAddress(text, llmsFullText(served, contact, markdown))],
    ...clientFiles(client),
  ]);
}

function withAddress(type: string, content: string): ServedFile {
  return { type, content, policy: pagePolicy, hasAddress: true };
}

function openapiFiles(whole: OpenapiDocument): [key: string, ServedFile][] {
  return openapiVariants().flatMap(({ openapi, format }) => {
    const chosen = format === undefined ? whole : documentInFormat(whole, format);
    const document = openapi === "3.0" ? toOpenapi30(chosen) : chosen;
    const contents = [
      ["application/json; charset=utf-8", toText(document)],
      ["application/yaml; charset=utf-8", Bun.YAML.stringify(document, null, 2)],
    ] as const;
    return contents.map(([type, content], index): [string, ServedFile] => [
      openapiKey(openapiPaths[index] as string, openapi, format),
      withAddress(type, content.replaceAll(exampleAddress, addressPlaceholder)),
    ]);
  });
}

function schemaFiles(served: readonly Resource[]): [string, ServedFile][] {
  const schemas = served.map((resource): [string, ServedFile] => [
    `/schemas/${resource.name}.json`,
    { type: schemaType, content: toText(schemaDocument(resource)) },
  ]);
  return [
    ["/schemas/storefront.xsd", { type: xml, content: toXsd(served) }],
    ["/schemas/problem.xsd", { type: xml, content: toProblemXsd() }],
    ...schemas,
    ["/schemas/key.json", { type: schemaType, content: toText(keySchemaDocument()) }],
    ["/schemas/changes.json", { type: schemaType, content: toText(feedSchemaDocument(served)) }],
    ["/schemas/batch.json", { type: schemaType, content: toText(batchSchemaDocument(served)) }],
    ["/schemas/sites.json", { type: schemaType, content: String(sitesSchema) }],
  ];
}

function toText(document: Schema): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

// Files to download: example programs, request files for tools, the client as an npm package, and what the manual for operators mentions.

const source = (name: string) => `text/x-${name}; charset=utf-8`;
const json = "application/json; charset=utf-8";

/** By path under /docs. The text is `unknown` because imported JSON files have the type of their content. */
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

/** Request files for tools, which contain the server's URL. */
const requestFiles: Readonly<Record<string, readonly [type: string, text: unknown]>> = {
  "/docs/postman.json": [json, postman],
  "/docs/storefront.http": ["text/plain; charset=utf-8", httpFile],
  "/docs/storefront-jetbrains.http": ["text/plain; charset=utf-8", jetbrainsHttpFile],
};

const servedPaths: ReadonlySet<string> = new Set([
  "/docs",
  unversionedClientPath,
  ...Object.keys(requestFiles),
  ...Object.keys(files).map((name) => `/docs/${name}`),
  ...guidePages.map(({ path }) => path),
]);

/** Whether pages can link to a path under /docs. */
function isServed(path: string): boolean {
  return servedPaths.has(path);
}

/** The client's package, at a path with its version and at one without. */
function clientFiles(client: ClientPackage | undefined): [string, ServedFile][] {
  if (!client) return [];
  const file = { type: "application/gzip", content: client.bytes, isCompressed: true };
  return [
    [unversionedClientPath, file],
    [client.path, { ...file, isVersioned: true }],
  ];
}
