// JSON Schema 2020-12, from the declarations of the resources.

import type { Field, Fields, Group, Text } from "../model/field.ts";
import type { Resource } from "../model/resource.ts";

export interface Schema {
  readonly [keyword: string]: unknown;
}

/** Schemas by name, where the first mention of a group puts its own. */
export type Schemas = Record<string, Schema>;

/**
 * What is asked of a record:
 * `whole` is what a response carries; `part` what a list carries when `fields` asks for less; `new` what creates one;
 * `changes` what updates one, or names the one to delete.
 */
export type Form = "whole" | "part" | "new" | "changes";

/** The largest ID is the largest whole number that every JSON parser reads exactly (RFC 8259 section 6). */
const largestId = Number.MAX_SAFE_INTEGER;

/** The schema of `resource`'s records in JSON. @param groups receives the groups that it refers to, below `base` */
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

/** The name of a record's schema among others: `Brand`, `NewBrand`. */
export function schemaName({ element }: Resource, form: Form): string {
  return { whole: element, part: `${element}Part`, new: `New${element}`, changes: `${element}Changes` }[form];
}

/** The document at `/schemas/<resource>.json`: a record, and under `$defs` its other forms and its list. */
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

/** A schema of the text that `field` holds. */
function textSchema(field: Text): Schema {
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
  description: "Identifier of the record: given by the server, and never used twice.",
  minimum: 1,
  maximum: largestId,
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
  part: ({ singular }) => `What \`fields\` asks for of the ${singular}, and its ID.`,
  new: ({ singular }) => `What creates the ${singular}. Fields that are left out are stored empty.`,
  changes: ({ singular }) =>
    `What changes of the ${singular}. Fields that are left out keep their value; \`""\` empties one. The ID names the record where the path does not.`,
};

function required(form: Form, { fields, leaves }: Resource): Schema {
  if (form === "changes") return {};
  if (form === "part") return { required: ["ID"] };
  if (form === "whole") return { required: ["ID", ...Object.keys(fields)] };
  const names = new Set(leaves.filter((leaf) => leaf.field.required).map((leaf) => leaf.keys[0] as string));
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

/** A reference to the group, which resources share. Two groups of one name that differ are told apart by a number. */
function groupSchema(name: string, group: Group, form: Form, groups: Schemas, base: string): Schema {
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

/** `xml` is a keyword of OpenAPI, and none of JSON Schema. */
function withoutXml<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name === "xml" ? undefined : value)));
}
