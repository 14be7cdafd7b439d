// Tool definitions as agents read them. Their schemas derive from the resources' declarations.

import { maxFilters } from "../../model/limits.ts";
import { publicResources, type Resource, writtenResources } from "../../model/resource.ts";
import { recordSchema, type Schema, type Schemas, schemaName } from "../../reference/json-schema.ts";
import { matchablePaths } from "../batch/batch.ts";

/** A tool without its function. */
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

/** An agent's context is limited. */
const maxToolPage = 200;
/** Without `limit`. */
export const defaultToolPage = 50;

const maxToolOperations = 1000;

const readOnly = { readOnlyHint: true, openWorldHint: false };
const storing = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

const offset: Schema = { type: "integer", minimum: 0, description: "How many records to skip. Default: 0." };

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
  description: "The `Confirm` from the dry run, to store exactly what it returned. Without it, the call is a dry run.",
};

function resourceOf(resources: readonly Resource[]): Schema {
  return {
    type: "string",
    enum: publicResources(resources).map(({ path }) => path),
    description: "What kind of records.",
  };
}

/** Lists each resource's fields in a sentence, because agents with a read-only key get no schema of records. */
function fieldList(resources: readonly Resource[]): string {
  const lists = publicResources(resources).map(
    ({ path, textFields }) => `${path} have ID, ${textFields.map((textField) => textField.path).join(", ")}`,
  );
  return `Fields: ${lists.join("; ")}.`;
}

/** Lists each resource's required fields, as part of a sentence. */
function requiredFields(written: readonly Resource[]): string {
  const lists = written.map(({ path, textFields }) => {
    const required = textFields.filter(({ field }) => field.required);
    return `${required.map((textField) => `\`${textField.path}\``).join(", ") || "none"} (${path})`;
  });
  return lists.join(", ");
}

export function listTool(resources: readonly Resource[]): ToolDefinition {
  return {
    name: "list",
    title: "List records",
    description:
      "Returns `Records` and `Total`, the number of records that match the filters. Use `offset` to read more pages.",
    inputSchema: object(["resource"], {
      resource: resourceOf(resources),
      limit: limit("records"),
      offset,
      sort: paths(
        "Paths of the fields to sort by, such as `Address.Town`. Put `-` before one for descending order. Default: by `ID`.",
      ),
      filter: {
        type: "object",
        additionalProperties: { type: "string", maxLength: 1000 },
        maxProperties: maxFilters,
        description: `Values by field path, such as \`{"Address.Town": "Graz"}\`. Records must match all of them. \`Name[contains]\` matches part of a value, ignoring case, and \`ID[in]\` or \`Name[in]\` any of several, such as \`3,5,8\` or \`Acme,"Smith, Jones"\`. ${fieldList(resources)}`,
      },
      fields: paths("Paths of the fields to return, besides `ID`. Default: all."),
    }),
    annotations: readOnly,
  };
}

export function getTool(resources: readonly Resource[]): ToolDefinition {
  return {
    name: "get",
    title: "Get a record",
    description:
      "Returns one `Record` and its `ETag`. Pass the ETag as `IfMatch` in a batch operation to avoid overwriting someone else's later change.",
    inputSchema: object(["resource", "id"], { resource: resourceOf(resources), id: idSchema }),
    annotations: readOnly,
  };
}

export function changesTool(resources: readonly Resource[]): ToolDefinition {
  return {
    name: "changes",
    title: "Read changes",
    description:
      "Returns what was created, updated and deleted after a cursor, oldest first. Send `Next` as `since` to continue; `More` says whether there's more right now.",
    inputSchema: object([], {
      since: {
        type: "string",
        maxLength: 200,
        description:
          "The cursor to start after. `now` returns only the current cursor. Default: start with the first change.",
      },
      limit: limit("changes"),
      resource: { ...resourceOf(resources), description: "Only changes to these records. Default: all." },
      collapse: { type: "boolean", description: "Whether to return only the last change to each record in the page." },
    }),
    annotations: readOnly,
  };
}

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
    Resource: { type: "string", enum: written.map(({ path }) => path), description: "What kind of record." },
    ID: { ...idSchema, description: "ID of the record to update or delete." },
    IfMatch: { type: "string", description: "The `ETag` the record must still have." },
    Record: {
      description: `The fields to store. An update keeps the fields you leave out. A create needs ${requiredFields(written)}. Leave it out for a delete, except for the \`match\` value.`,
      anyOf: records.map(([name]) => ({ $ref: base + name })),
    },
  });
  return {
    name: "batch",
    title: "Create, update and delete records",
    description: `Creates, updates and deletes up to ${maxToolOperations} records in one transaction, all or none. The first call stores nothing; it returns what would be stored, and \`Confirm\`. Show that to the user, then call again with the same operations and that value as \`confirm\`. If the records have changed since, nothing is stored. Save \`Run\`; \`undo\` needs it. Results repeat each record, at about 100 tokens each, so send at most 100 operations per call unless more have to be stored together.`,
    inputSchema: {
      ...object(["operations"], {
        operations: { type: "array", maxItems: maxToolOperations, items: operation },
        match: {
          type: "string",
          enum: matchablePaths(written),
          description:
            "A field path. A PUT without `ID` then updates the record with the same value in this field, or creates one; a DELETE without `ID` deletes it.",
        },
        confirm,
      }),
      $defs: { ...Object.fromEntries(records), ...groups },
    },
    annotations: storing,
  };
}

export const undoTool: ToolDefinition = {
  name: "undo",
  title: "Undo a run",
  description:
    "Reverses a run of this API key. Records that anyone has changed since are skipped, and listed in `Skipped`. The first call stores nothing; it returns what would be stored, and `Confirm`. Show that to the user, then call again with the same `run` and that value as `confirm`.",
  inputSchema: object(["run"], {
    run: { type: "string", maxLength: 100, description: "The `Run` of a batch or an undo." },
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

/** Leaves out the keyword `xml`, which JSON Schema doesn't have. */
export function encodeDefinitions(tools: readonly ToolDefinition[]): string {
  return JSON.stringify(tools, (name, value) => (name === "xml" ? undefined : value));
}
