// What describes the interface to machines: OpenAPI, JSON Schema and XSD.

import { version } from "../../package.json" with { type: "json" };
import { formats } from "../formats/format.ts";
import { statusOf } from "../formats/status.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import { type Schema, schemaDocument } from "./json-schema.ts";
import { toOpenapi } from "./openapi/document.ts";
import { toProblemXsd, toXsd } from "./xsd.ts";

interface TextDocument {
  /** `Content-Type`. */
  readonly type: string;
  readonly make: () => string;
}

/** The OpenAPI document of `resources`. */
export function openapiOf(resources: readonly Resource[]): Schema {
  return toOpenapi({ resources: servedOf(resources), formats, version, statusOf });
}

/** The documents by path, each with what makes it. */
export function describingDocuments(resources: readonly Resource[]): Map<string, TextDocument> {
  const documents: [string, string, () => string][] = [
    ["/openapi.json", "application/json; charset=utf-8", () => pretty(openapiOf(resources))],
    ["/openapi.yaml", "application/yaml; charset=utf-8", () => Bun.YAML.stringify(openapiOf(resources), null, 2)],
    ["/schemas/storefront.xsd", "application/xml; charset=utf-8", () => toXsd(servedOf(resources))],
    ["/schemas/problem.xsd", "application/xml; charset=utf-8", toProblemXsd],
  ];
  for (const resource of servedOf(resources)) {
    const path = `/schemas/${resource.name}.json`;
    documents.push([path, "application/schema+json; charset=utf-8", () => pretty(schemaDocument(resource))]);
  }
  return new Map(documents.map(([path, type, make]) => [path, { type, make }]));
}

function pretty(document: Schema): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
