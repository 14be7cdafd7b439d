// Files to download: for integrators requests for tools, programs in several languages, and the client as an npm package; for operators what
// the manual names.

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
import curlExample from "../../examples/curl.sh" with { type: "text" };
import javascriptExample from "../../examples/javascript.mjs" with { type: "text" };
import phpExample from "../../examples/php.php" with { type: "text" };
import pythonExample from "../../examples/python.py" with { type: "text" };
import csharpExample from "../../examples/Storefront.cs" with { type: "text" };
import javaExample from "../../examples/Storefront.java" with { type: "text" };
import webhookJavascript from "../../examples/webhook.mjs" with { type: "text" };
import webhookPhp from "../../examples/webhook.php" with { type: "text" };
import webhookPython from "../../examples/webhook.py" with { type: "text" };
import { Refusal } from "../model/errors.ts";
import { exampleAddress } from "./pages/code.ts";

const source = (name: string) => `text/x-${name}; charset=utf-8`;
const json = "application/json; charset=utf-8";

/** Type and text by path under /docs. A JSON file that is imported as text has the type of its content. */
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
export const staticFiles: ReadonlyMap<string, Download> = new Map(
  Object.entries(files).map(([name, [type, text]]) => [`/docs/${name}`, { type, text: String(text) }]),
);

/** Requests for tools, by path, with the URL of this server in place of the one in the repository. */
export const requestFiles: ReadonlyMap<string, (address: string) => Download> = new Map([
  ["/docs/postman.json", toRequests(json, postman)],
  ["/docs/storefront.http", toRequests("text/plain; charset=utf-8", httpFile)],
]);

/**
 * The client as an npm package. `npm run client` makes it; a package and a single executable contain it.
 * @throws Refusal `not-found` in a checkout without it
 */
export async function clientPackage(): Promise<Uint8Array> {
  const file = await import("../../dist/client.tgz", { with: { type: "file" } }).catch(() => undefined);
  if (file) return Bun.file(file.default).bytes();
  throw new Refusal("not-found", "this checkout has not built the client; its operator can run `npm run client`");
}

function toRequests(type: string, text: unknown) {
  return (address: string): Download => ({ type, text: String(text).replaceAll(exampleAddress, address) });
}
