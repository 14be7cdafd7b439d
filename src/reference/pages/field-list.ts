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

function fieldsOf(document: OpenapiDocument, schema: Schema, prefix: string): DocumentedField[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  return Object.entries(properties).flatMap(([name, reference]) => {
    const inner = resolve(document, reference);
    const path = prefix + name;
    if (inner.properties) return fieldsOf(document, inner, `${path}.`);
    return [{ name: path, schema: inner, isRequired: required.includes(name) && Number(inner.minLength) > 0 }];
  });
}

function item(name: string, facts: readonly (string | false | undefined)[], description: string): string {
  const known = facts.filter(Boolean).map((fact) => escapeHtml(String(fact)));
  return `<li><b>${escapeHtml(name)}</b> <span class="quiet">${known.join(" · ")}</span><p>${renderSentence(description)}</p></li>`;
}

/** A schema in a few words. */
function typeOf({ type, enum: values, minimum, maximum, maxLength, items }: Schema): string {
  if (Array.isArray(values)) return values.length < 8 ? values.join(", ") : String(type);
  if (type === "array") return `list of ${(items as Schema).enum ? "fields" : "values"}`;
  if (type === "object") return "";
  if (type === "integer") return `integer${rangeOf(Number(minimum), Number(maximum))}`;
  return [type, maxLength !== undefined && `at most ${maxLength} characters`].filter(Boolean).join(", ");
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
