// Converts OpenAPI 3.1 to 3.0, for generators that don't support 3.1.
//
// In 3.0, schemas are a smaller language than JSON Schema 2020-12 (OpenAPI 3.0.3 section 4.7.24), and there are no webhooks. Outside schemas, only a few
// members of `info` differ.

import type { Schema, Schemas } from "../json-schema.ts";
import { type OpenapiDocument, resolve, withUsedComponents } from "./document-reader.ts";

/**
 * Puts webhooks into `x-webhooks`, which tools ignore or read as in 3.1.
 * @throws Error if a schema has a keyword that we can't convert
 */
export function toOpenapi30(document: OpenapiDocument): Schema {
  const { openapi: _, info, paths, webhooks, components, ...others } = withoutUnions(document);
  const { summary: __, license, ...shared } = info;
  return {
    openapi: "3.0.3",
    info: { ...shared, license: { name: license.name, url: `https://spdx.org/licenses/${license.identifier}.html` } },
    ...others,
    paths: convertMembers(paths, convert),
    ...(webhooks ? { "x-webhooks": convertMembers(webhooks, convert) } : {}),
    components: convertComponents(components),
  };
}

/**
 * Turns every union of objects into one object with the members of all. For unions, generators for Java refer to classes that don't exist, or make ones that
 * lose the members of all alternatives but one.
 */
function withoutUnions(document: OpenapiDocument): OpenapiDocument {
  const schemas: Schemas = {};
  for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
    const { oneOf, discriminator: _, properties, ...others } = schema;
    const alternatives = oneOf as readonly Schema[] | undefined;
    if (alternatives) schemas[name] = { ...merged(name, alternatives), ...others };
    else schemas[name] = properties ? { ...schema, properties: mergedMembers(name, [schema]) } : schema;
  }
  return withUsedComponents({ ...document, components: { ...document.components, schemas } });

  /** @param references to the objects, whose members' own unions go to the schemas of this name and the member's */
  function merged(name: string, references: readonly Schema[]): Schema {
    const objects = references.map((one) => resolve(document, one));
    const required = objects.map((one) => (one.required ?? []) as readonly string[]);
    const inAll = (required[0] ?? []).filter((member) => required.every((names) => names.includes(member)));
    const { properties: _, required: __, ...others } = common(objects);
    return {
      title: name,
      ...others,
      ...(inAll.length > 0 ? { required: inAll } : {}),
      properties: mergedMembers(name, objects),
    };
  }

  function mergedMembers(name: string, objects: readonly Schema[]): Schema {
    const all = objects.map(({ properties = {} }) => properties as Schemas);
    const members = [...new Set(all.flatMap((one) => Object.keys(one)))];
    return Object.fromEntries(
      members.map((key) => [
        key,
        mergedMember(
          name + key,
          all.flatMap((one) => (one[key] ? [one[key]] : [])),
        ),
      ]),
    );
  }

  function mergedMember(name: string, values: readonly Schema[]): Schema {
    const alternatives = values.flatMap((value) => (value.anyOf as readonly Schema[] | undefined) ?? [value]);
    const references = new Map(alternatives.flatMap((one) => (one.$ref ? [[one.$ref, one]] : [])));
    const { enum: _, ...shared } = common(values);
    if (references.size < 2) {
      const choices = values.map((value) => value.enum as readonly unknown[] | undefined);
      return { ...shared, ...(choices.every(Boolean) ? { enum: [...new Set(choices.flat())] } : {}) };
    }
    schemas[name] = merged(name, [...references.values()]);
    const { anyOf: __, ...others } = shared;
    const $ref = `#/components/schemas/${name}`;
    const isNullable = alternatives.some(({ type }) => type === "null");
    return { ...others, ...(isNullable ? { anyOf: [{ $ref }, { type: "null" }] } : { $ref }) };
  }
}

/** Returns the members that all values have in common. */
function common(values: readonly Schema[]): Schema {
  const [first = {}, ...others] = values;
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((one) => Bun.deepEquals(one[name], value))),
  );
}

function convertComponents(components: OpenapiDocument["components"]): Schema {
  const converted = Object.entries(components).map(([kind, members]) => [
    kind,
    convertMembers(members, kind === "schemas" ? (schema) => toSchema30(schema as Schema) : convert),
  ]);
  return Object.fromEntries(converted);
}

function convertMembers(members: Schema, convertOne: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, convertOne(value)]));
}

/** Members that contain example values rather than schemas or objects of the document. */
const examples = new Set(["example", "examples", "x-example", "x-examples"]);

/** Converts the schemas in something that isn't a schema itself. */
function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== "object" || value === null) return value;
  const converted = Object.entries(value).map(([name, inner]) => {
    if (name === "schema") return [name, toSchema30(inner)];
    return [name, examples.has(name) ? withoutNulls(inner) : convert(inner)];
  });
  return Object.fromEntries(converted);
}

/**
 * Removes list elements with a null member, such as changes without a record. Their schema allows null as far as generators are concerned (`convertAnyOf`), but not
 * for linters, which check examples.
 */
function withoutNulls(example: unknown): unknown {
  if (typeof example !== "object" || example === null) return example;
  if (Array.isArray(example)) return example.filter((one) => !hasNull(one)).map(withoutNulls);
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, withoutNulls(value)]));
}

function hasNull(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).includes(null);
}

// Schemas.

/** 3.0 ignores members next to `$ref`, so we separate them with `allOf`. */
function toSchema30(schema: Schema): Schema {
  const { $ref, ...siblings } = schema;
  if ($ref === undefined) return convertKeywords(schema);
  return Object.keys(siblings).length === 0 ? schema : { allOf: [{ $ref }], ...convertKeywords(siblings) };
}

function convertKeywords(schema: Schema): Schema {
  return Object.assign({}, ...Object.entries(schema).map(([keyword, value]) => convertKeyword(keyword, value)));
}

/** Keywords that mean the same in both. */
const sameKeywords = new Set(
  `additionalProperties default description enum format maxItems maxLength maxProperties minimum minItems minLength pattern
  required title xml`.split(/\s+/),
);

function convertKeyword(keyword: string, value: unknown): Schema {
  const converter = converters[keyword];
  if (converter) return converter(value);
  if (!sameKeywords.has(keyword) && !keyword.startsWith("x-"))
    throw new Error(`there is no conversion of the keyword ${keyword} to OpenAPI 3.0`);
  return { [keyword]: value };
}

/** The largest integer in the type that generators choose without a `format`. */
const maxInt32 = 2 ** 31 - 1;

const converters: Readonly<Record<string, (value: unknown) => Schema>> = {
  const: (value) => ({ enum: [value] }),
  examples: (values) => ({ example: (values as unknown[])[0] }),
  // 3.0 can't restrict the names of members. Descriptions of parameters list them.
  propertyNames: () => ({}),
  type: convertType,
  additionalProperties: (value) => ({
    additionalProperties: typeof value === "boolean" ? value : toSchema30(value as Schema),
  }),
  maximum: (value) => ({ maximum: value, ...((value as number) > maxInt32 ? { format: "int64" } : {}) }),
  properties: (value) => ({
    properties: Object.fromEntries(
      Object.entries(value as Record<string, Schema>).map(([name, one]) => [name, toSchema30(one)]),
    ),
  }),
  items: (value) => ({ items: toSchema30(value as Schema) }),
  anyOf: (values) => convertAnyOf(values as Schema[]),
};

function convertType(type: unknown): Schema {
  if (!Array.isArray(type)) return { type };
  const [single, ...others] = type.filter((one) => one !== "null");
  if (others.length > 0) throw new Error("a schema in OpenAPI 3.0 has one type");
  return { type: single, nullable: true };
}

/** Converts "an object or null" to the form that generators expect of 3.0, and every other `anyOf` member by member. */
function convertAnyOf(alternatives: readonly Schema[]): Schema {
  const others = alternatives.filter(({ type }) => type !== "null");
  const converted = others.map(toSchema30);
  if (others.filter(({ $ref }) => $ref).length > 1) throw new Error("a union of objects can't be converted here");
  if (others.length === alternatives.length) return { anyOf: converted };
  return { type: "object", nullable: true, allOf: converted };
}
