// JSON Schema of the document about an API key (contract section 1). OpenAPI and XML Schema use it too.

import type { Right } from "../model/key-rights.ts";
import { type Schema, withoutXml } from "./json-schema.ts";

export const keySchemaName = "Key";

/** What the server tells a client about its key. */
export interface KeyDocument {
  readonly Prefix: string;
  readonly Label: string;
  readonly Site: string;
  readonly SiteID: number;
  readonly Sandbox: boolean;
  readonly Rights: readonly Right[];
  readonly Networks: readonly string[];
  readonly Expires: string | null;
  readonly Rate: number | null;
  readonly Burst: number | null;
  readonly Remaining: number | null;
}

/** An example of a document. */
export const exampleKey: KeyDocument = {
  Prefix: "sfk_AbCd1234",
  Label: "warehouse till",
  Site: "demo",
  SiteID: 1,
  Sandbox: false,
  Rights: ["brands:read", "brands:write", "orderstatuses:read"],
  Networks: ["203.0.113.0/24"],
  Expires: "2027-01-31T12:00:00.000Z",
  Rate: 50,
  Burst: 50,
  Remaining: 49,
};

const properties: Readonly<Record<keyof KeyDocument, Schema>> = {
  Prefix: { type: "string", description: "The start of the key, which is safe to show. Operators know keys by it." },
  Label: { type: "string", description: "What the operator calls the key. May be empty." },
  Site: { type: "string", description: "The name of the site, or of the sandbox." },
  SiteID: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "The ID of that site." },
  Sandbox: { type: "boolean", description: "Whether that's a sandbox, where tests can't do any harm." },
  Rights: {
    type: "array",
    items: { type: "string", xml: { name: "Right" } },
    description: "Everything the key may do. Accept rights you don't know, because there may be more in the future.",
    xml: { wrapped: true },
  },
  Networks: {
    type: "array",
    items: { type: "string", xml: { name: "Network" } },
    description: "The networks from which the key can be used. If there are none, it can be used from anywhere.",
    xml: { wrapped: true },
  },
  Expires: {
    type: ["string", "null"],
    format: "date-time",
    description: "When the key expires. Null if it doesn't. In XML, null members are absent.",
  },
  Rate: {
    type: ["number", "null"],
    description: "How many requests per second are allowed. Null if there's no limit.",
  },
  Burst: { type: ["number", "null"], description: "How many requests are allowed at once, after a pause." },
  Remaining: {
    type: ["integer", "null"],
    minimum: 0,
    description: "How many requests are left right now. This one has been counted.",
  },
};

export const keySchema: Schema = {
  title: "API key",
  description: "What your API key is for, and what it may do.",
  type: "object",
  required: Object.keys(properties),
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      { ...schema, examples: [exampleKey[name as keyof KeyDocument]] },
    ]),
  ),
  xml: { name: "Key" },
};

/** Returns the document at `/schemas/key.json`. */
export function keySchemaDocument(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "/schemas/key.json",
    ...withoutXml(keySchema),
  };
}
