// JSON Schema of batch requests and of undo, and of their responses (contract section 14). OpenAPI uses the same schemas.

import { maxBatchOperations } from "../model/limits.ts";
import { type Resource, writtenResources } from "../model/resource.ts";
import { recordSchema, type Schema, type Schemas, schemaName, withoutXml } from "./json-schema.ts";
import { problemSchemas } from "./problem-schema.ts";

/** The name of the schema of each document. */
export const batchSchemaNames = {
  request: "Batch",
  response: "BatchResults",
  undo: "Undo",
  undone: "Undone",
} as const;

const operationName = "BatchOperation";
const resultName = "BatchResult";
const skippedName = "SkippedRecord";

const attribute = { xml: { attribute: true } };
const positive: Schema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const count: Schema = { type: "integer", minimum: 0, maximum: maxBatchOperations, ...attribute };

/** Returns the schemas of batch requests, of undo and of their responses, by name. @param base the prefix of references in them */
export function batchSchemas(resources: readonly Resource[], base: string): Schemas {
  const written = writtenResources(resources);
  const operations = written.map((resource) => [operationNameOf(resource), operationSchema(resource, base)]);
  return {
    [batchSchemaNames.request]: requestSchema(base),
    [operationName]: anyOperation(written, base),
    ...Object.fromEntries(operations),
    [batchSchemaNames.response]: responseSchema(base),
    [resultName]: resultSchema(written, base),
    [batchSchemaNames.undo]: undoSchema,
    [batchSchemaNames.undone]: undoneSchema(base),
    [skippedName]: skippedSchema(written),
  };
}

/** Returns the document at `/schemas/batch.json`: the schema of a batch request, with the schemas of the other documents under `$defs`. */
export function batchSchemaDocument(resources: readonly Resource[]): Schema {
  const base = "#/$defs/";
  const groups: Schemas = {};
  const records: Schemas = {};
  for (const resource of writtenResources(resources)) {
    for (const form of ["whole", "changes"] as const)
      records[schemaName(resource, form)] = recordSchema(resource, form, groups, base);
  }
  const { [batchSchemaNames.request]: request, ...others } = batchSchemas(resources, base);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "/schemas/batch.json",
    ...withoutXml(request),
    $defs: withoutXml({ ...others, ...records, ...groups, ...problemSchemas(base) }),
  };
}

function operationNameOf({ element }: Resource): string {
  return `${element}Operation`;
}

function requestSchema(base: string): Schema {
  return {
    title: "Batch request",
    description: "Operations that are stored together, in order. By default, all of them or none.",
    type: "object",
    required: ["Operations"],
    properties: {
      Operations: {
        type: "array",
        description: "The operations. Each sees the changes of those before it.",
        maxItems: maxBatchOperations,
        items: { $ref: base + operationName },
      },
    },
    additionalProperties: false,
    xml: { name: "Batch" },
  };
}

/** Returns the schema of an operation on any resource. It has a name of its own, because generators make a type of it. */
function anyOperation(resources: readonly Resource[], base: string): Schema {
  return {
    title: "Batch operation",
    description: "An operation of a batch request. `Resource` says on which resource.",
    oneOf: resources.map((resource) => ({ $ref: base + operationNameOf(resource) })),
    discriminator: {
      propertyName: "Resource",
      mapping: Object.fromEntries(resources.map((resource) => [resource.path, base + operationNameOf(resource)])),
    },
    xml: { name: "Operation" },
  };
}

const recordDescription =
  "The fields of the new record, or those to change, as in a single request. For a DELETE, none or only the ID.";

function operationSchema(resource: Resource, base: string): Schema {
  const { singular, path, element } = resource;
  return {
    title: `Operation on ${element}`,
    description: `Creates, changes or deletes one ${singular}. A new ${singular} needs its required fields in \`Record\`, and has no ID. In XML, \`Record\` is the element \`${element}\`, and the other members are attributes.`,
    type: "object",
    required: ["Method", "Resource"],
    properties: {
      Method: {
        type: "string",
        enum: ["POST", "PUT", "PATCH", "DELETE"],
        description:
          "`POST` creates a record, `PUT` and `PATCH` change the fields in `Record`, and `DELETE` deletes the record.",
        ...attribute,
      },
      Resource: { type: "string", enum: [path], description: "The resource, as in its path.", ...attribute },
      ID: {
        ...positive,
        description:
          "ID of the record to change or delete. `Record` can have it instead. With `match`, a PUT without an ID finds its record by a value.",
        examples: [1],
        ...attribute,
      },
      IfMatch: {
        type: "string",
        description: "As the header field `If-Match` of a single request: the `ETag` that the record must have.",
        examples: ['"k3f9a1Zq.18.5d8c12ab-json"'],
        ...attribute,
      },
      Record: { description: recordDescription, $ref: base + schemaName(resource, "changes") },
    },
    additionalProperties: false,
    xml: { name: "Operation" },
  };
}

const runSchema: Schema = {
  type: "string",
  description: "The run: the ID of this batch, with which it can be undone.",
  examples: ["k3J9aZ0q-18-3"],
  ...attribute,
};

const newRunSchema: Schema = {
  ...runSchema,
  type: ["string", "null"],
  description:
    "The run: the ID of what this request has stored, with which it can be undone. Null if nothing was stored, as after a dry run. In XML, an attribute, or none.",
};

function responseSchema(base: string): Schema {
  return {
    title: "Batch results",
    description: "What became of the operations of a batch request.",
    type: "object",
    required: ["Run", "Results"],
    properties: {
      Run: newRunSchema,
      Results: {
        type: "array",
        description: "One result for each operation, in the same order.",
        maxItems: maxBatchOperations,
        items: { $ref: base + resultName },
      },
    },
    xml: { name: "BatchResults" },
  };
}

function resultSchema(resources: readonly Resource[], base: string): Schema {
  return {
    title: "Batch result",
    description: "The result of an operation: the record, or with `atomic=0` the problem.",
    type: "object",
    required: ["Status"],
    properties: {
      Status: {
        type: "integer",
        minimum: 200,
        maximum: 599,
        description: "The status code of the same operation as a single request.",
        examples: [201],
        ...attribute,
      },
      Changed: {
        type: "boolean",
        description: "Whether the operation changed the record. Absent if the operation was rejected.",
        ...attribute,
      },
      ETag: {
        type: "string",
        description: "The `ETag` of the record after the operation, for `If-Match`. Absent if the record was deleted.",
        examples: ['"k3f9a1Zq.18.5d8c12ab-json"'],
        ...attribute,
      },
      Record: {
        description: "The record after the operation, or the deleted record. In XML, the element of the resource.",
        anyOf: resources.map((resource) => ({ $ref: base + schemaName(resource, "whole") })),
      },
      Problem: { description: "Why the operation was rejected.", $ref: `${base}Problem` },
    },
    xml: { name: "Result" },
  };
}

const undoSchema: Schema = {
  title: "Undo",
  description: "Names the run to undo.",
  type: "object",
  required: ["Run"],
  properties: {
    Run: { ...runSchema, description: "The `Run` of a batch request, or of an undo, with the same API key." },
  },
  additionalProperties: false,
  xml: { name: "Undo" },
};

function undoneSchema(base: string): Schema {
  return {
    title: "Undone",
    description: "What an undo has changed. Records that were changed after the run are left alone.",
    type: "object",
    required: ["Run", "Deleted", "Restored", "Unchanged", "Skipped"],
    properties: {
      Run: newRunSchema,
      Deleted: { ...count, description: "Records that the run had created.", examples: [2] },
      Restored: { ...count, description: "Records that are again as before the run.", examples: [5] },
      Unchanged: { ...count, description: "Records that were already as before the run.", examples: [0] },
      Skipped: {
        type: "array",
        description: "Records that were left alone, because they were changed after the run.",
        maxItems: maxBatchOperations,
        items: { $ref: base + skippedName },
      },
    },
    xml: { name: "Undone" },
  };
}

function skippedSchema(resources: readonly Resource[]): Schema {
  return {
    title: "Skipped record",
    description: "A record that was changed after the run.",
    type: "object",
    required: ["Resource", "ID", "Revision"],
    properties: {
      Resource: { type: "string", enum: resources.map(({ path }) => path), description: "Its resource.", ...attribute },
      ID: { ...positive, description: "ID of the record.", examples: [12], ...attribute },
      Revision: { ...positive, description: "The revision of its latest change.", examples: [31], ...attribute },
    },
    xml: { name: "Skipped" },
  };
}
