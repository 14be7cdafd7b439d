// Makes JSON Schema 2020-12 from the resources' declarations. OpenAPI 3.1 uses the same schemas.

import type { Field, FieldGroup, Fields, TextField } from "../model/field.ts";
import type { Resource } from "../model/resource.ts";

export interface Schema {
  readonly [keyword: string]: unknown;
}

/** The schemas of groups, by name. */
export type Schemas = Record<string, Schema>;

/**
 * The forms of a record. `whole`: in responses. `part`: in a list with `fields`. `new`: in a request that creates a record. `changes`: in a request
 * that updates a record, or names the record to delete.
 */
export type Form = "whole" | "part" | "new" | "changes";

/** The largest integer that all JSON parsers read exactly (RFC 8259 section 6). */
const maxNumber = Number.MAX_SAFE_INTEGER;

/** Returns the schema of a record. @param groups receives the schemas of its field groups @param base the prefix of references to these schemas */
export function recordSchema(resource: Resource, form: Form, groups: Schemas, base: string): Schema {
  const fields = fieldSchemas(resource.fields, form, groups, base);
  return {
    title: titles[form](resource),
    description: descriptions[form](resource),
    type: "object",
    properties: form === "new" ? fields : { ID: idSchema, ...fields },
    ...required(form, resource),
    ...(form === "new" || form === "changes" ? { additionalProperties: false } : {}),
    xml: { name: resource.element },
  };
}

/** Returns the name of a schema: `Brand`, `NewBrand`. */
export function schemaName({ element }: Resource, form: Form): string {
  return { whole: element, part: `${element}Part`, new: `New${element}`, changes: `${element}Changes` }[form];
}

/** Returns the document at `/schemas/<resource>.json`: the schema of a record, with its other forms and the list under `$defs`. */
export function schemaDocument(resource: Resource): Schema {
  const base = "#/$defs/";
  const groups: Schemas = {};
  const whole = withoutXml(recordSchema(resource, "whole", groups, base));
  const forms = (["part", "new", "changes"] as const).map((form) => [
    schemaName(resource, form),
    withoutXml(recordSchema(resource, form, groups, base)),
  ]);
  const list = { type: "array", items: { $ref: "#" } };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `/schemas/${resource.name}.json`,
    ...whole,
    $defs: { ...withoutXml(groups), ...Object.fromEntries(forms), [`${resource.element}List`]: list },
  };
}

/** Returns the schema of the text in `field`. */
function textSchema(field: TextField): Schema {
  return {
    type: "string",
    description: field.description,
    maxLength: field.max,
    ...(field.required ? { minLength: 1 } : {}),
    ...(field.pattern ? { pattern: field.pattern.source } : {}),
    ...(field.example ? { examples: [field.example] } : {}),
  };
}

const idSchema: Schema = {
  type: "integer",
  description: "The record's ID. The server assigns it and never reuses it.",
  minimum: 1,
  maximum: maxNumber,
  examples: [1],
  xml: { attribute: true },
};

const titles: Record<Form, (resource: Resource) => string> = {
  whole: ({ element }) => element,
  part: ({ element }) => `${element}, in part`,
  new: ({ element }) => `New ${element}`,
  changes: ({ element }) => `Changes to ${element}`,
};

const descriptions: Record<Form, (resource: Resource) => string> = {
  whole: ({ description }) => description,
  part: ({ singular }) => `The ID of the ${singular}, and the fields selected with \`fields\`.`,
  new: ({ singular }) => `The fields of a new ${singular}. Fields you leave out are stored empty.`,
  changes: ({ singular }) =>
    `The fields of the ${singular} to change. Fields you leave out keep their values; \`""\` clears one. The ID says which record, if the path doesn't.`,
};

function required(form: Form, { fields, textFields }: Resource): Schema {
  if (form === "changes") return {};
  if (form === "part") return { required: ["ID"] };
  if (form === "whole") return { required: ["ID", ...Object.keys(fields)] };
  const names = new Set(
    textFields.filter((textField) => textField.field.required).map((textField) => textField.keys[0]),
  );
  return names.size > 0 ? { required: [...names] } : {};
}

function fieldSchemas(fields: Fields, form: Form, groups: Schemas, base: string): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]: [string, Field]) => [
      name,
      field.kind === "text" ? textSchema(field) : groupSchema(name, field, form, groups, base),
    ]),
  );
}

/** Resources share equal groups. If two differ but have the same name, the second gets a number. */
function groupSchema(name: string, group: FieldGroup, form: Form, groups: Schemas, base: string): Schema {
  const isWhole = form === "whole";
  const schema: Schema = {
    title: isWhole ? name : `${name}, in part`,
    description: group.description,
    type: "object",
    properties: fieldSchemas(group.fields, isWhole ? "whole" : "part", groups, base),
    ...(isWhole ? { required: Object.keys(group.fields) } : { additionalProperties: false }),
  };
  let key = isWhole ? name : `${name}Part`;
  for (let i = 2; key in groups && JSON.stringify(groups[key]) !== JSON.stringify(schema); i++) key = `${name}${i}`;
  groups[key] = schema;
  return { $ref: base + key };
}

/** The keyword `xml` belongs to OpenAPI, not to JSON Schema. */
export function withoutXml<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name === "xml" ? undefined : value)));
}

// JSON Schema of a feed page.

/** The name of the schema of a feed page. */
export const pageSchemaName = "Changes";

/** The name of the schema of a change of any resource. */
export const anyChangeName = "Change";

/** Returns the schemas of a feed page, of a change of any resource and of a change of each resource, by name. @param base the prefix of references in them */
export function feedSchemas(resources: readonly Resource[], base: string): Schemas {
  const changes = resources.map((resource) => [changeName(resource), changeSchema(resource, base)]);
  return {
    [pageSchemaName]: pageSchema(base),
    [anyChangeName]: anyChange(resources, base),
    ...Object.fromEntries(changes),
  };
}

/** Returns the document at `/schemas/changes.json`: the schema of a feed page, with the schemas that it uses under `$defs`. */
export function feedSchemaDocument(resources: readonly Resource[]): Schema {
  const base = "#/$defs/";
  const groups: Schemas = {};
  const records = resources.map((resource) => [
    schemaName(resource, "whole"),
    recordSchema(resource, "whole", groups, base),
  ]);
  const { [pageSchemaName]: page, ...changes } = feedSchemas(resources, base);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "/schemas/changes.json",
    ...withoutXml(page),
    $defs: withoutXml({ ...changes, ...Object.fromEntries(records), ...groups }),
  };
}

function changeName({ element }: Resource): string {
  return `ChangeOf${element}`;
}

function pageSchema(base: string): Schema {
  return {
    title: "Changes",
    description: "A page of a site's changes, in order.",
    type: "object",
    required: ["Changes", "Next", "More"],
    properties: {
      Changes: { type: "array", items: { $ref: base + anyChangeName } },
      Next: {
        ...cursor,
        description: "The cursor after this page, even if nothing matched. Send it as `since` to continue.",
      },
      More: {
        type: "boolean",
        description:
          "Whether there are more changes. If so, fetch the next page immediately, even if this one is empty.",
        xml: { attribute: true },
      },
    },
    xml: { name: "Changes" },
  };
}

/** A change to any resource. It has its own name because generators turn it into a type. */
function anyChange(resources: readonly Resource[], base: string): Schema {
  return {
    title: "Change",
    description: "A change to a record. `Resource` says which resource it belongs to.",
    oneOf: resources.map((resource) => ({ $ref: base + changeName(resource) })),
    discriminator: {
      propertyName: "Resource",
      mapping: Object.fromEntries(resources.map((resource) => [resource.path, base + changeName(resource)])),
    },
    xml: { name: "Change" },
  };
}

const positive: Schema = { type: "integer", minimum: 1, maximum: maxNumber };

const cursor: Schema = { type: "string", examples: ["1f0c63d9a2be.18"], xml: { attribute: true } };

const run: Schema = {
  type: "string",
  description:
    "The run of the batch request or undo that made the change. All changes with this `Run` were stored together and can be undone together. Absent for other changes.",
  examples: ["k3J9aZ0q-18-3"],
  xml: { attribute: true },
};

function changeSchema(resource: Resource, base: string): Schema {
  const { singular, path, element } = resource;
  const attribute = { xml: { attribute: true } };
  return {
    title: `Change to ${element}`,
    description: `What happened to one ${singular}. Treat \`create\` and \`update\` the same way: store the record.`,
    type: "object",
    required: ["Cursor", "Revision", "Time", "Operation", "Resource", "ID", "ETag", "Record"],
    properties: {
      Cursor: { ...cursor, description: "The cursor after this change." },
      Revision: {
        ...positive,
        description:
          "The change's number. Later changes to the site have higher ones, but numbers from before and after a restore can't be compared.",
        examples: [18],
        ...attribute,
      },
      Time: { type: "string", format: "date-time", description: "When the change was made, in UTC.", ...attribute },
      Operation: { type: "string", enum: ["create", "update", "delete"], description: "What happened.", ...attribute },
      Resource: { type: "string", enum: [path], description: "The record's resource.", ...attribute },
      ID: { ...positive, description: "ID of the record.", ...attribute },
      ETag: {
        type: ["string", "null"],
        description:
          "The record's `ETag` after the change, to send as `If-Match`. Null if the record was deleted. In XML, an attribute, absent instead of null.",
        examples: ['"k3f9a1Zq.18.5d8c12ab-json"'],
        ...attribute,
      },
      Run: run,
      Record: {
        description: `The ${singular} after the change, or null if it was deleted. In XML, the element \`${element}\`, absent instead of null.`,
        anyOf: [{ $ref: base + schemaName(resource, "whole") }, { type: "null" }],
        xml: { name: element },
      },
    },
    xml: { name: "Change" },
  };
}
