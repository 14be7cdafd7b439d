// JSON Schema of batch requests, undo and their responses (contract section 14). OpenAPI uses the same schemas.

import { maxBatchOperations } from "../model/limits.ts";
import { type Resource, writtenResources } from "../model/resource.ts";
import { recordSchema, type Schema, type Schemas, schemaName, withoutXml } from "./json-schema.ts";
import { problemSchemas } from "./problem-schema.ts";

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
    description: "Operations to store together, in order. By default, all of them are stored or none.",
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

/** An operation on any resource. It has its own name because generators turn it into a type. */
function anyOperation(resources: readonly Resource[], base: string): Schema {
  return {
    title: "Batch operation",
    description: "An operation in a batch request. `Resource` says which resource it's on.",
    oneOf: resources.map((resource) => ({ $ref: base + operationNameOf(resource) })),
    discriminator: {
      propertyName: "Resource",
      mapping: Object.fromEntries(resources.map((resource) => [resource.path, base + operationNameOf(resource)])),
    },
    xml: { name: "Operation" },
  };
}

const recordDescription =
  "The new record's fields, or those to change, as in a single request. For a DELETE, leave it out, or send only the ID or the `match` value.";

function operationSchema(resource: Resource, base: string): Schema {
  const { singular, path, element } = resource;
  return {
    title: `Operation on ${element}`,
    description: `Creates, changes or deletes one ${singular}. To create one, put its required fields in \`Record\` and leave out the ID. In XML, \`Record\` is the element \`${element}\`, and the other members are attributes.`,
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
      Resource: { type: "string", enum: [path], description: "The resource, as in its URL.", ...attribute },
      ID: {
        ...positive,
        description:
          "ID of the record to change or delete, unless it's in `Record`. With `match`, a PUT or DELETE without an ID finds its record by a value.",
        examples: [1],
        ...attribute,
      },
      IfMatch: {
        type: "string",
        description: "Like `If-Match` in a single request: the `ETag` the record must still have.",
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
  description: "The run: this batch's ID, which you need to undo it.",
  examples: ["k3J9aZ0q-18-3"],
  ...attribute,
};

const newRunSchema: Schema = {
  ...runSchema,
  type: ["string", "null"],
  description:
    "The run: the ID of what this request stored, which you need to undo it. Null if nothing was stored, such as by a dry run. In XML, an attribute, absent instead of null.",
};

function responseSchema(base: string): Schema {
  return {
    title: "Batch results",
    description: "What happened to each operation in a batch request.",
    type: "object",
    required: ["Run", "Results"],
    properties: {
      Run: newRunSchema,
      Results: {
        type: "array",
        description: "One result per operation, in the same order.",
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
    description: "An operation's result: the record, or with `atomic=0`, possibly a problem.",
    type: "object",
    required: ["Status"],
    properties: {
      Status: {
        type: "integer",
        minimum: 200,
        maximum: 599,
        description: "The status code the operation would get as a single request.",
        examples: [201],
        ...attribute,
      },
      Changed: {
        type: "boolean",
        description: "Whether the operation changed the record. Absent if it was rejected.",
        ...attribute,
      },
      ETag: {
        type: "string",
        description: "The record's `ETag` after the operation, for `If-Match`. Absent if the record was deleted.",
        examples: ['"k3f9a1Zq.18.5d8c12ab-json"'],
        ...attribute,
      },
      Record: {
        description:
          "The record after the operation, or as it was before it was deleted. In XML, the resource's element.",
        anyOf: resources.map((resource) => ({ $ref: base + schemaName(resource, "whole") })),
      },
      Problem: { description: "Why the operation was rejected.", $ref: `${base}Problem` },
    },
    xml: { name: "Result" },
  };
}

const undoSchema: Schema = {
  title: "Undo",
  description: "The run to undo.",
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
    description: "What an undo changed. Records that have changed since the run are skipped.",
    type: "object",
    required: ["Run", "Deleted", "Restored", "Unchanged", "Skipped"],
    properties: {
      Run: newRunSchema,
      Deleted: {
        ...count,
        description: "How many records were deleted, because the run had created them.",
        examples: [2],
      },
      Restored: {
        ...count,
        description: "How many records were restored to how they were before the run.",
        examples: [5],
      },
      Unchanged: { ...count, description: "How many records were already as they were before the run.", examples: [0] },
      Skipped: {
        type: "array",
        description: "Records that were skipped because they've changed since the run.",
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
    description: "A record that has changed since the run.",
    type: "object",
    required: ["Resource", "ID", "Revision"],
    properties: {
      Resource: {
        type: "string",
        enum: resources.map(({ path }) => path),
        description: "The record's resource.",
        ...attribute,
      },
      ID: { ...positive, description: "ID of the record.", examples: [12], ...attribute },
      Revision: { ...positive, description: "Revision of its latest change.", examples: [31], ...attribute },
    },
    xml: { name: "Skipped" },
  };
}
