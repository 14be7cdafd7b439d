// The conversion of the OpenAPI document from 3.1 to 3.0.

import { expect, test } from "bun:test";
import type { Schema } from "../../../../src/reference/json-schema.ts";
import type { OpenapiDocument } from "../../../../src/reference/openapi/document-reader.ts";
import { toOpenapi30 } from "../../../../src/reference/openapi/openapi-30.ts";

const info = {
  title: "Storefront",
  summary: "Brands.",
  description: "Brands in JSON.",
  version: "1.0.0",
  license: { name: "MIT", identifier: "MIT" },
};

function convert(members: object): Schema {
  const document = { openapi: "3.1.0", info, tags: [], paths: {}, components: {}, ...members };
  return toOpenapi30(document as unknown as OpenapiDocument);
}

/** The document's schemas after the conversion. @param others with which `schema` makes up the document's schemas */
function convertSchema(schema: Schema, others: Record<string, Schema> = {}): Record<string, Schema> {
  const content = { "application/json": { schema: a } };
  const paths = { "/a.json": { post: { requestBody: { content } } } };
  return (
    convert({ paths, components: { schemas: { A: schema, ...others } } }).components as { schemas: typeof others }
  ).schemas;
}

const a = { $ref: "#/components/schemas/A" };
const reference = { $ref: "#/components/schemas/Brand" };

test.each<[string, Schema, Schema]>([
  ["a constant", { type: "string", const: "a" }, { type: "string", enum: ["a"] }],
  ["a text or null", { type: ["string", "null"], maxLength: 9 }, { type: "string", nullable: true, maxLength: 9 }],
  ["examples", { type: "integer", examples: [1, 2] }, { type: "integer", example: 1 }],
  [
    "an object or null",
    { anyOf: [reference, { type: "null" }] },
    { type: "object", nullable: true, allOf: [reference] },
  ],
  ["alternatives", { anyOf: [{ const: "a" }, reference] }, { anyOf: [{ enum: ["a"] }, reference] }],
  ["a description beside a reference", { ...reference, description: "A" }, { allOf: [reference], description: "A" }],
  ["a reference", reference, reference],
  ["a large maximum", { type: "integer", maximum: 2 ** 31 }, { type: "integer", maximum: 2 ** 31, format: "int64" }],
  ["a small maximum", { type: "integer", maximum: 2 ** 31 - 1 }, { type: "integer", maximum: 2 ** 31 - 1 }],
  ["names of members", { type: "object", propertyNames: { enum: ["a"] } }, { type: "object" }],
  [
    "schemas in schemas",
    {
      properties: { const: { items: { const: 1 } } },
      additionalProperties: { anyOf: [{ const: 2 }] },
      required: ["const"],
    },
    {
      properties: { const: { items: { enum: [1] } } },
      additionalProperties: { anyOf: [{ enum: [2] }] },
      required: ["const"],
    },
  ],
])("%s is converted", (_, schema, expected) => {
  const parameter = (inner: Schema) => ({ name: "a", in: "query", schema: inner });
  const body = (inner: Schema) => ({ post: { requestBody: { content: { "application/json": { schema: inner } } } } });
  const uses = { post: { parameters: [{ $ref: "#/components/parameters/B" }], ...body(a).post } };
  const converted = convert({
    paths: { "/a.json": body(schema), "/b.json": uses },
    webhooks: { changed: body(schema) },
    components: { schemas: { A: schema, Brand: { type: "object" } }, parameters: { B: parameter(schema) } },
  });
  expect(converted).toMatchObject({
    paths: { "/a.json": body(expected), "/b.json": uses },
    "x-webhooks": { changed: body(expected) },
    components: { schemas: { A: expected }, parameters: { B: parameter(expected) } },
  });
  expect((converted.components as { schemas: Schema }).schemas.A).toEqual(expected);
});

test("OpenAPI 3.0: only its members, and no null in examples", () => {
  const content = { schema: { type: "object" }, example: { schema: [{ const: 1 }] }, examples: { a: { value: 2 } } };
  const withNull = { ...content, example: { schema: [{ const: 1 }, { const: null }] } };
  const converted = convert({ paths: { "/a.json": { get: { content: withNull } } } });
  expect(converted).toMatchObject({ openapi: "3.0.3", paths: { "/a.json": { get: { content } } } });
  const { summary: _, ...shared } = info;
  expect(converted.info).toEqual({ ...shared, license: { name: "MIT", url: "https://spdx.org/licenses/MIT.html" } });
});

test.each<[string, Schema]>([
  ["if", { if: { type: "string" } }],
  ["oneOf", { properties: { a: { oneOf: [{ type: "string" }] } } }],
  ["exclusiveMinimum", { type: "integer", exclusiveMinimum: 0 }],
])("a schema with %s is an error, because the conversion doesn't know it", (keyword, schema) => {
  expect(() => convertSchema(schema)).toThrow(`the keyword ${keyword} `);
});

test("OpenAPI 3.0: a schema with two types is an error, because 3.0 can't express it", () => {
  expect(() => convertSchema({ type: ["string", "integer"] })).toThrow("one type");
});

test("OpenAPI 3.0: a union of objects is one object with the members of all", () => {
  const [brand, label] = [{ $ref: "#/components/schemas/Brand" }, { $ref: "#/components/schemas/Label" }];
  const change = (resource: string, record: Schema) => ({
    type: "object",
    required: ["Resource", "Record"],
    properties: { Resource: { type: "string", enum: [resource] }, Record: { anyOf: [record, { type: "null" }] } },
  });
  const name = { type: "string", maxLength: 9, description: "Name" };
  const schemas = convertSchema(
    { description: "A change", oneOf: ["B", "L"].map((one) => ({ $ref: `#/components/schemas/${one}` })) },
    {
      B: change("brands", brand),
      L: change("labels", label),
      Brand: { type: "object", required: ["Name", "Code"], properties: { Name: name, Code: { type: "string" } } },
      Label: { type: "object", required: ["Name"], properties: { Name: { ...name, description: "Label" } } },
    },
  );
  expect(schemas).toEqual({
    A: {
      title: "A",
      description: "A change",
      type: "object",
      required: ["Resource", "Record"],
      properties: {
        Resource: { type: "string", enum: ["brands", "labels"] },
        Record: { type: "object", nullable: true, allOf: [{ $ref: "#/components/schemas/ARecord" }] },
      },
    },
    ARecord: {
      title: "ARecord",
      type: "object",
      required: ["Name"],
      properties: { Name: { type: "string", maxLength: 9 }, Code: { type: "string" } },
    },
  });
});
