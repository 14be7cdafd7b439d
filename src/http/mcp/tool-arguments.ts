// Checks the arguments of a tool against its schema. Supports the keywords that tool-schemas.ts uses outside of the records of batch operations, which
// the code of batch requests checks.

import { findNearest, findNearestPath, formatHint } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { isJsonObject } from "../../model/field.ts";
import type { Schema } from "../../reference/json-schema.ts";
import type { ToolDefinition } from "./tool-schemas.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** Checks arguments. @throws ProblemError `bad-request` for the first unknown, missing or unsuitable one */
export function checkArguments({ name, inputSchema: { properties, required } }: ToolDefinition, sent: Arguments): void {
  for (const argument of Object.keys(sent)) {
    if (!Object.hasOwn(properties, argument)) throw unknownArgumentError(name, argument, Object.keys(properties));
  }
  const missing = required.find((argument) => sent[argument] === undefined);
  if (missing !== undefined) throw new ProblemError("bad-request", `\`${name}\` needs the argument \`${missing}\``);
  for (const [argument, value] of Object.entries(sent)) checkValue(argument, properties[argument] as Schema, value);
}

function unknownArgumentError(tool: string, argument: string, known: readonly string[]): ProblemError {
  const hint = formatHint(findNearest(argument, known), `there is ${known.join(", ")}`);
  return new ProblemError("bad-request", `\`${tool}\` has no argument \`${argument.slice(0, 100)}\`; ${hint}`);
}

function checkValue(name: string, schema: Schema, value: unknown): void {
  const fault = faultOf(schema, value);
  if (fault !== undefined) throw new ProblemError("bad-request", `\`${name.slice(0, 200)}\` must be ${fault}`);
  if (Array.isArray(value)) checkItems(name, schema.items as Schema, value);
  else if (isJsonObject(value) && isJsonObject(schema.additionalProperties)) {
    for (const [key, item] of Object.entries(value)) {
      if (isJsonObject(item))
        throw new ProblemError("bad-request", `\`${name}\`: name nested fields by their paths${toPaths(key, item)}`);
      checkValue(`${name}.${key}`, schema.additionalProperties, item);
    }
  }
}

/** Returns the paths of the members of a nested object, as an example. */
function toPaths(key: string, nested: object): string {
  const [member] = Object.keys(nested);
  return member === undefined ? "" : `, such as \`${`${key}.${member}`.slice(0, 200)}\``;
}

/** Checks the items of a list, but not members of objects in it: those are batch operations. */
function checkItems(name: string, schema: Schema, items: readonly unknown[]): void {
  for (const [index, item] of items.entries()) checkValue(`${name}[${index}]`, schema, item);
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
  const count = isJsonObject(value) ? Object.keys(value).length : Number.POSITIVE_INFINITY;
  return count <= Number(maxProperties ?? 100) ? undefined : "an object";
}
