// Checks the arguments of a tool against its schema. Supports the keywords that tool-schemas.ts uses outside of batch operations, which the code of batch
// requests checks.

import { findNearestPath } from "../../lib/text.ts";
import {
  type Fault,
  type FieldError,
  fault,
  furtherErrors,
  hasTooManyFieldErrors,
  maxFieldErrors,
  ProblemError,
} from "../../model/errors.ts";
import { isJsonObject, unknownFieldFault, wrongTypeFault } from "../../model/field.ts";
import type { Schema } from "../../reference/json-schema.ts";
import type { ToolDefinition } from "./tool-schemas.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** Returns the members of an object that are not null. Some agents must send every argument, and send null for one that they leave out. */
export function withoutNulls(members: Arguments): Arguments {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Checks arguments. @throws ProblemError `bad-request` with all that are unknown, missing or unsuitable, at most 100 */
export function checkArguments(definition: ToolDefinition, sent: Arguments): void {
  const faults: FieldError[] = [];
  for (const fault of faultsIn(definition, sent)) {
    faults.push(fault);
    if (hasTooManyFieldErrors(faults)) break;
  }
  const [first] = faults;
  if (!first) return;
  throw new ProblemError("bad-request", `\`${first.field}\`: ${first.detail}${furtherErrors(faults)}`, {
    fieldErrors: faults.slice(0, maxFieldErrors),
  });
}

function* faultsIn({ inputSchema: { properties, required } }: ToolDefinition, sent: Arguments): Generator<FieldError> {
  for (const [argument, value] of Object.entries(sent)) {
    if (Object.hasOwn(properties, argument)) yield* faultsOfValue(argument, properties[argument] as Schema, value);
    else yield { field: argument.slice(0, 100), ...unknownFieldFault(argument, Object.keys(properties)) };
  }
  for (const argument of required) if (sent[argument] === undefined) yield { field: argument, ...fault("required") };
}

function* faultsOfValue(name: string, schema: Schema, value: unknown): Generator<FieldError> {
  const wrong = faultOf(schema, value);
  const field = name.slice(0, 200);
  if (wrong) yield { field, ...wrong };
  else if (Array.isArray(value)) yield* faultsOfItems(name, schema.items as Schema, value);
  else if (isJsonObject(value) && isJsonObject(schema.additionalProperties)) {
    for (const [key, item] of Object.entries(value)) {
      if (isJsonObject(item))
        yield { field, ...fault("invalid", `name nested fields by their paths${toPaths(key, item)}`) };
      else yield* faultsOfValue(`${name}.${key}`, schema.additionalProperties, item);
    }
  }
}

/** Returns the fault of a value, also if it is a string that contains JSON of the right type: agents and their programs often send that. */
function faultOf(schema: Schema, value: unknown): Fault | undefined {
  const { type, enum: choices, minimum, maximum, maxLength, maxItems, maxProperties } = schema;
  if (type === "string") {
    if (typeof value !== "string") return wrongTypeFault("string", value);
    const max = Number(maxLength);
    if (!Array.isArray(choices)) return value.length > max ? fault("too-long", "", { max }) : undefined;
    const meant = findNearestPath(value, choices);
    if (choices.includes(value)) return undefined;
    return fault("invalid-choice", meant === undefined ? "" : `; did you mean \`${meant}\`?`, { choices });
  }
  if (type === "integer") {
    const [min, max] = [Number(minimum), Number(maximum ?? Number.MAX_SAFE_INTEGER)];
    const isInside = Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
    return isInside ? undefined : fault("out-of-range", inString(/^\s*[0-9]+\s*$/, value), { min, max });
  }
  if (type === "array") {
    if (!Array.isArray(value)) return wrongTypeFault("array", value, inArray(schema.items as Schema, value));
    const max = Number(maxItems);
    return value.length > max ? fault("too-many", " items", { max }) : undefined;
  }
  if (type === "boolean")
    return typeof value === "boolean"
      ? undefined
      : wrongTypeFault("boolean", value, inString(/^\s*(?:true|false)\s*$/i, value));
  if (!isJsonObject(value)) return wrongTypeFault("object", value);
  const max = Number(maxProperties ?? 100);
  return Object.keys(value).length > max ? fault("too-many", " members", { max }) : undefined;
}

/** Returns how to send a value as a list. */
function inArray({ type }: Schema, value: unknown): string {
  const isName = typeof value === "string" && type === "string" && /^[\w.,-]{1,200}$/.test(value);
  return isName ? `; send \`${JSON.stringify(value.split(","))}\`` : inString(/^\s*\[/, value);
}

/** Returns what to do with a string that contains JSON of the right type. */
function inString(pattern: RegExp, value: unknown): string {
  return typeof value === "string" && pattern.test(value) ? "; remove the quotes around it" : "";
}

/** Returns the paths of the members of a nested object, as an example. */
function toPaths(key: string, nested: object): string {
  const [member] = Object.keys(nested);
  return member === undefined ? "" : `, such as \`${`${key}.${member}`.slice(0, 200)}\``;
}

/** Checks the items of a list, unless they are objects: those are batch operations. */
function* faultsOfItems(name: string, schema: Schema, items: readonly unknown[]): Generator<FieldError> {
  if (schema.type === "object") return;
  for (const [index, item] of items.entries()) yield* faultsOfValue(`${name}[${index}]`, schema, item);
}
