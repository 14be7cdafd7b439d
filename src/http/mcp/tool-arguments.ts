// Checks the arguments of a tool against its schema. Supports the keywords that tool-schemas.ts uses outside of batch operations, which the code of batch
// requests checks.

import { findNearest, findNearestPath, formatHint } from "../../lib/text.ts";
import {
  type FieldError,
  furtherErrors,
  hasTooManyFieldErrors,
  maxFieldErrors,
  ProblemError,
} from "../../model/errors.ts";
import { describeJsonType, describeNonObject, isJsonObject } from "../../model/field.ts";
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
  throw new ProblemError("bad-request", first.detail + furtherErrors(faults), {
    fieldErrors: faults.slice(0, maxFieldErrors),
  });
}

function* faultsIn(
  { name, inputSchema: { properties, required } }: ToolDefinition,
  sent: Arguments,
): Generator<FieldError> {
  for (const [argument, value] of Object.entries(sent)) {
    if (Object.hasOwn(properties, argument)) yield* faultsOfValue(argument, properties[argument] as Schema, value);
    else yield { field: argument.slice(0, 100), detail: unknownArgument(name, argument, Object.keys(properties)) };
  }
  for (const argument of required)
    if (sent[argument] === undefined)
      yield { field: argument, detail: `\`${name}\` needs the argument \`${argument}\`` };
}

function unknownArgument(tool: string, argument: string, known: readonly string[]): string {
  const hint = formatHint(findNearest(argument, known), `there is ${known.join(", ")}`);
  return `\`${tool}\` has no argument \`${argument.slice(0, 100)}\`; ${hint}`;
}

function* faultsOfValue(name: string, schema: Schema, value: unknown): Generator<FieldError> {
  const fault = faultOf(schema, value);
  const field = name.slice(0, 200);
  if (fault !== undefined) yield { field, detail: `\`${field}\` must be ${fault}${typeHint(schema, value)}` };
  else if (Array.isArray(value)) yield* faultsOfItems(name, schema.items as Schema, value);
  else if (isJsonObject(value) && isJsonObject(schema.additionalProperties)) {
    for (const [key, item] of Object.entries(value)) {
      if (isJsonObject(item))
        yield { field, detail: `\`${field}\`: name nested fields by their paths${toPaths(key, item)}` };
      else yield* faultsOfValue(`${name}.${key}`, schema.additionalProperties, item);
    }
  }
}

/** Returns what to add about a value of another type. Agents and their programs often send a value as a string that contains its JSON. */
function typeHint({ type, items }: Schema, value: unknown): string {
  if (type === "object" && !isJsonObject(value)) return `, not ${describeNonObject(value)}${inString(/^\s*\{/, value)}`;
  if (type === "array" && !Array.isArray(value)) {
    const isName = typeof value === "string" && (items as Schema).type === "string" && /^[\w.,-]{1,200}$/.test(value);
    const hint = isName ? `: send \`${JSON.stringify(value.split(","))}\`` : inString(/^\s*\[/, value);
    return `, not ${describeJsonType(value)}${hint}`;
  }
  if (typeof value !== "string" || type === "string") return "";
  return `, not a string${inString(/^\s*(?:[0-9]+|true|false)\s*$/i, value)}`;
}

/** Returns what to do with a string that contains JSON of the right type. */
function inString(pattern: RegExp, value: unknown): string {
  return typeof value === "string" && pattern.test(value) ? ": send it without quotes around it" : "";
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

function oneOf(choices: readonly string[], value: unknown): string {
  const meant = typeof value === "string" ? findNearestPath(value, choices) : undefined;
  return `one of ${choices.join(", ")}${meant === undefined ? "" : `; did you mean \`${meant}\`?`}`;
}

/** Returns what a value should be; undefined if it is that. */
function faultOf(schema: Schema, value: unknown): string | undefined {
  const { type, enum: choices, minimum, maximum, maxLength, maxItems, maxProperties } = schema;
  if (type === "string") {
    if (Array.isArray(choices)) return choices.includes(value) ? undefined : oneOf(choices, value);
    return typeof value === "string" && value.length <= Number(maxLength)
      ? undefined
      : `a text of at most ${maxLength} characters`;
  }
  if (type === "integer") {
    const [min, max] = [Number(minimum), Number(maximum ?? Number.MAX_SAFE_INTEGER)];
    const isInside = Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
    return isInside ? undefined : `a whole number from ${min} to ${max}`;
  }
  if (type === "array")
    return Array.isArray(value) && value.length <= Number(maxItems) ? undefined : `a list of at most ${maxItems} items`;
  if (type === "boolean") return typeof value === "boolean" ? undefined : "true or false";
  if (!isJsonObject(value)) return "an object";
  const most = Number(maxProperties ?? 100);
  return Object.keys(value).length <= most ? undefined : `an object with at most ${most} members`;
}
