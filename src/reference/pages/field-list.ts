// The fields of a record and the parameters of an operation, as lists.

import type { Schema } from "../json-schema.ts";
import { type DocumentedParameter, type OpenapiDocument, resolve } from "../openapi/reading.ts";
import { escapeHtml } from "./html.ts";
import { renderSentence } from "./markdown.ts";

/** The fields of an object; those of the objects in it have dotted names. */
export function fieldList(document: OpenapiDocument, schema: Schema): string {
  const items = fieldsOf(document, schema, "").map(({ name, schema: field, isRequired }) =>
    item(name, [typeOf(field), isRequired && "required"], String(field.description ?? "")),
  );
  return `<ul class="fields">${items.join("")}</ul>`;
}

export function parameterList(parameters: readonly DocumentedParameter[]): string {
  const items = parameters.map((parameter) =>
    item(
      typedForm(parameter),
      [parameter.in, typeOf(parameter.schema), parameter.required && "required"],
      parameter.description,
    ),
  );
  return `<ul class="fields">${items.join("")}</ul>`;
}

/** What a person writes for a parameter: its name, or for one with members its example, as in `filter[Name][contains]=acm`. */
export function typedForm({ name, style, example }: DocumentedParameter): string {
  if (style !== "deepObject") return name;
  const [path, value] = firstLeaf(example);
  return `${name}${path.map((key) => `[${key}]`).join("")}=${value}`;
}

interface DocumentedField {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** How deep objects in objects are listed: schemas may contain themselves. */
const maxDepth = 4;

function fieldsOf(document: OpenapiDocument, schema: Schema, prefix: string, depth = 1): DocumentedField[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  return Object.entries(properties).flatMap(([name, reference]) => {
    const field = resolve(document, reference);
    const items = field.type === "array" ? toOne(document, resolve(document, field.items as Schema)) : undefined;
    const inner = items ?? field;
    const path = prefix + name;
    if (inner.properties && depth < maxDepth)
      return fieldsOf(document, inner, `${path}${items ? "[]" : ""}.`, depth + 1);
    return [{ name: path, schema: field, isRequired: required.includes(name) && Number(field.minLength) > 0 }];
  });
}

/** An object for the alternatives of a `oneOf`, with what each of them says about a field; any other schema as it is. */
function toOne(document: OpenapiDocument, schema: Schema): Schema {
  if (!Array.isArray(schema.oneOf)) return schema;
  const objects = (schema.oneOf as Schema[]).map(
    (one) => (resolve(document, one).properties ?? {}) as Record<string, Schema>,
  );
  const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  const properties = names.map((name) => {
    const fields = objects.map((object) => object[name]).filter((field) => field !== undefined);
    const values = fields.flatMap((field) => (field.enum as readonly unknown[]) ?? []);
    const descriptions = new Set(fields.map((field) => field.description));
    return [
      name,
      {
        ...fields[0],
        ...(values.length > 0 ? { enum: [...new Set(values)] } : {}),
        description: [...descriptions].join(" "),
      },
    ];
  });
  return { properties: Object.fromEntries(properties) };
}

function item(name: string, facts: readonly (string | false | undefined)[], description: string): string {
  const known = facts.filter(Boolean).map((fact) => escapeHtml(String(fact)));
  return `<li><b>${escapeHtml(name)}</b> <span class="quiet">${known.join(" · ")}</span><p>${renderSentence(description)}</p></li>`;
}

/** A schema in a few words. */
function typeOf({ type, enum: values, minimum, maximum, maxLength, items }: Schema): string {
  if (Array.isArray(values)) return values.length < 8 ? values.join(", ") : "fields";
  if (type === "array") return `list of ${typeOf(items as Schema) || "values"}`;
  if (type === "object") return "";
  if (type === "integer") return `integer${rangeOf(Number(minimum), Number(maximum))}`;
  const types = Array.isArray(type) ? type.join(" or ") : type;
  return [types, maxLength !== undefined && `at most ${maxLength} characters`].filter(Boolean).join(", ");
}

function rangeOf(minimum: number, maximum: number): string {
  if (maximum < Number.MAX_SAFE_INTEGER) return `, ${minimum} to ${maximum}`;
  return Number.isNaN(minimum) ? "" : `, from ${minimum}`;
}

function firstLeaf(value: unknown, path: readonly string[] = []): [readonly string[], string] {
  if (typeof value !== "object" || value === null) return [path, String(value ?? "")];
  const [[key, inner] = ["", ""]] = Object.entries(value);
  return firstLeaf(inner, [...path, key]);
}
