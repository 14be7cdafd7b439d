// The definitions of the tools, as agents read them. Their schemas follow from the declarations of the resources.

import { maxFilters } from "../../model/limits.ts";
import { publicResources, type Resource, writtenResources } from "../../model/resource.ts";
import { recordSchema, type Schema, type Schemas, schemaName } from "../../reference/json-schema.ts";
import { matchablePaths } from "../batch/batch.ts";

/** A tool, without the function that it calls. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema 2020-12 of the arguments. */
  readonly inputSchema: InputSchema;
  readonly annotations: Readonly<Record<string, boolean>>;
}

interface InputSchema extends Schema {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
}

/** Maximum records or changes in the result of a tool. The context of an agent is limited. */
const maxToolPage = 200;
/** Records or changes in a result if the agent does not send `limit`. */
export const defaultToolPage = 50;

/** Maximum batch operations in a call of the tool `batch`. */
const maxToolOperations = 1000;

const readOnly = { readOnlyHint: true, openWorldHint: false };
const storing = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

const offset: Schema = { type: "integer", minimum: 0, description: "The number of records to skip. Default: 0." };

const limit = (what: string): Schema => ({
  type: "integer",
  minimum: 1,
  maximum: maxToolPage,
  description: `Maximum number of ${what}. Default: ${defaultToolPage}.`,
});

const paths = (description: string): Schema => ({
  type: "array",
  items: { type: "string", maxLength: 200 },
  maxItems: 100,
  description,
});

const confirm: Schema = {
  type: "string",
  maxLength: 100,
  description: "The `Confirm` of the dry run, to store exactly what it has shown. Without it, the call is a dry run.",
};

function resourceOf(resources: readonly Resource[]): Schema {
  return { type: "string", enum: publicResources(resources).map(({ path }) => path), description: "Which records." };
}

/** Returns the paths of the fields of each resource, as sentences. An agent that may only read has no schema of records. */
function fieldList(resources: readonly Resource[]): string {
  const lists = publicResources(resources).map(
    ({ path, textFields }) => `${path} have ID, ${textFields.map((textField) => textField.path).join(", ")}`,
  );
  return `Fields: ${lists.join("; ")}.`;
}

/** Returns the fields that a create of each resource needs, as a part of a sentence. */
function requiredFields(written: readonly Resource[]): string {
  const lists = written.map(({ path, textFields }) => {
    const required = textFields.filter(({ field }) => field.required);
    return `${required.map((textField) => `\`${textField.path}\``).join(", ") || "none"} (${path})`;
  });
  return lists.join(", ");
}

/** Returns the definition of the tool `list`. @param resources the declarations */
export function listTool(resources: readonly Resource[]): ToolDefinition {
  return {
    name: "list",
    title: "List records",
    description:
      "Returns records of a resource: `Records`, and `Total`, the number of all records that the filters select. Read further pages with `offset`.",
    inputSchema: object(["resource"], {
      resource: resourceOf(resources),
      limit: limit("records"),
      offset,
      sort: paths(
        "Fields to sort by, by path such as `Address.Town`; with `-` before it, descending. Default: by `ID`.",
      ),
      filter: {
        type: "object",
        additionalProperties: { type: "string", maxLength: 1000 },
        maxProperties: maxFilters,
        description: `Values by field path, which are all required: \`{"Address.Town": "Graz"}\`. \`Name[contains]\` finds a part of a value in any case, and \`ID[in]\` records by ID, such as \`3,5,8\`. ${fieldList(resources)}`,
      },
      fields: paths("Paths of the fields to return, besides `ID`. Default: all."),
    }),
    annotations: readOnly,
  };
}

/** Returns the definition of the tool `get`. @param resources the declarations */
export function getTool(resources: readonly Resource[]): ToolDefinition {
  return {
    name: "get",
    title: "Get a record",
    description:
      "Returns one record: `Record`, and its `ETag`. As `IfMatch` of a batch operation, the ETag prevents overwriting a later change of others.",
    inputSchema: object(["resource", "id"], { resource: resourceOf(resources), id: idSchema }),
    annotations: readOnly,
  };
}

/** Returns the definition of the tool `changes`. @param resources the declarations */
export function changesTool(resources: readonly Resource[]): ToolDefinition {
  return {
    name: "changes",
    title: "Read changes",
    description:
      "Returns what was created, updated and deleted after a cursor, the oldest first. Send `Next` as `since` to go on; `More` says whether there is more now.",
    inputSchema: object([], {
      since: {
        type: "string",
        maxLength: 200,
        description:
          "The cursor after which to begin; `now` for a cursor of this moment without changes. Default: the first change.",
      },
      limit: limit("changes"),
      resource: { ...resourceOf(resources), description: "Only changes of these records. Default: of all." },
      collapse: { type: "boolean", description: "Whether to return only the last change of each record in the page." },
    }),
    annotations: readOnly,
  };
}

/** Returns the definition of the tool `batch`. @param resources the declarations */
export function batchTool(resources: readonly Resource[]): ToolDefinition {
  const written = writtenResources(resources);
  const groups: Schemas = {};
  const base = "#/$defs/";
  const records = written.map((resource): [string, Schema] => [
    schemaName(resource, "changes"),
    recordSchema(resource, "changes", groups, base),
  ]);
  const operation = object(["Method", "Resource"], {
    Method: { type: "string", enum: ["POST", "PUT", "DELETE"], description: "Create, update or delete." },
    Resource: { type: "string", enum: written.map(({ path }) => path), description: "Which records." },
    ID: { ...idSchema, description: "Of the record to update or delete." },
    IfMatch: { type: "string", description: "The `ETag` that the record must still have." },
    Record: {
      description: `The fields to store. An update keeps the fields that are not named. A create needs ${requiredFields(written)}. None for a delete.`,
      anyOf: records.map(([name]) => ({ $ref: base + name })),
    },
  });
  return {
    name: "batch",
    title: "Create, update and delete records",
    description: `Creates, updates and deletes up to ${maxToolOperations} records in one transaction, all or none. The first call stores nothing: it returns what would be stored, and \`Confirm\`. Show that to the user, then call again with the same operations and this value as \`confirm\`. If the records have changed since, nothing is stored. \`Run\` names what was stored, for \`undo\`. Results repeat each record, about 100 tokens: send at most 100 operations in a call, unless more must be stored together.`,
    inputSchema: {
      ...object(["operations"], {
        operations: { type: "array", maxItems: maxToolOperations, items: operation },
        match: {
          type: "string",
          enum: matchablePaths(written),
          description:
            "A field path. A PUT without `ID` then updates the one record with the same value in this field, or creates it.",
        },
        confirm,
      }),
      $defs: { ...Object.fromEntries(records), ...groups },
    },
    annotations: storing,
  };
}

/** The definition of the tool `undo`. */
export const undoTool: ToolDefinition = {
  name: "undo",
  title: "Undo a run",
  description:
    "Stores the earlier states of the records that a run of this API key has changed. Records that anybody changed later are left alone, and are listed in `Skipped`. The first call stores nothing: it returns what would be stored, and `Confirm`. Show that to the user, then call again with the same `run` and this value as `confirm`.",
  inputSchema: object(["run"], {
    run: { type: "string", maxLength: 100, description: "The `Run` of a batch or of an undo." },
    confirm,
  }),
  annotations: storing,
};

const idSchema: Schema = {
  type: "integer",
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "The ID of the record.",
};

function object(required: readonly string[], properties: Readonly<Record<string, Schema>>): InputSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** Returns the definitions as JSON, without the keyword `xml`, which JSON Schema does not have. */
export function encodeDefinitions(tools: readonly ToolDefinition[]): string {
  return JSON.stringify(tools, (name, value) => (name === "xml" ? undefined : value));
}
