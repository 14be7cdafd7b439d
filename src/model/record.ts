import { nearestPath } from "../lib/nearest.ts";
import { exceedsMaxFaults, type Fault, invalidRecord, Refusal } from "./errors.ts";
import { type Field, type Fields, kindOf, type Text, textFault } from "./field.ts";
import { fieldPaths, type Leaf, type Resource } from "./resource.ts";
import { valuesIn } from "./shape.ts";

/** The values of a record's fields, by name; groups nest. */
export interface Values {
  [name: string]: string | Values;
}

/** A record as it is served and stored: its ID, then its values in the order of the declaration. */
export type StorefrontRecord = { ID: number } & { [name: string]: string | number | Values };

/** What a client sent, decoded but not yet believed. */
type Input = { readonly [name: string]: unknown };

/** What a client sent, believed: the ID where it gave one, and the fields that it gave. */
interface Reading {
  readonly id: number | undefined;
  readonly values: Values;
}

/**
 * Reads the fields that `input` has and no others.
 * @param known faults that decoding found already; they are told together with the others
 * @throws Refusal `invalid-record` with every fault at once
 */
export function readRecord(resource: Resource, input: unknown, known: readonly Fault[] = []): Reading {
  const faults = [...known];
  const fields = requireInput(resource, input);
  const id = readId(fields.ID, faults);
  const values = readFields({ resource, fields: resource.fields, above: "", isWhole: false, faults }, fields);
  if (faults.length > 0) throw invalidRecord(faults);
  return { id, values };
}

/**
 * Reads a record to create: no ID, everything required is there, and what is absent is empty.
 * @throws Refusal `invalid-record` with every fault at once
 */
export function readNewRecord(resource: Resource, input: unknown, known: readonly Fault[] = []): Values {
  const faults = [...known];
  const fields = requireInput(resource, input);
  if (Object.hasOwn(fields, "ID")) {
    faults.push({ field: "ID", detail: "is given by the server: leave it out when you create a record" });
  }
  const values = readFields({ resource, fields: resource.fields, above: "", isWhole: true, faults }, fields);
  if (faults.length > 0) throw invalidRecord(faults);
  return values;
}

/**
 * The text of a stored record as this program declares it, whichever version of the program stored it: the declared members
 * in their order, `""` for what is missing, and no others. It is the same text when it is so already.
 * @param json a record as `JSON.stringify` writes it
 */
export function toDeclared(resource: Resource, json: string): string {
  if (resource.shape.pattern.test(json)) return json;
  const stored = JSON.parse(json);
  return JSON.stringify({ ID: stored.ID, ...valuesIn(resource.fields, stored) });
}

/**
 * `record` with the fields of `changes` in their place, groups field by field, and all that it has besides; `record` itself
 * when nothing changes. What is missing is empty.
 */
export function merge<T extends object>(record: T, changes: Values): T {
  const merged = { ...record } as Record<string, unknown>;
  let isChanged = false;
  for (const [name, value] of Object.entries(changes)) {
    const isGroup = typeof value === "object";
    const current = merged[name] ?? (isGroup ? {} : "");
    const after = isGroup ? merge(current as Values, value) : value;
    if (after === current) continue;
    merged[name] = after;
    isChanged = true;
  }
  return isChanged ? (merged as T) : record;
}

/** The text in the field of `record` that `leaf` leads to. */
export function valueAt(record: StorefrontRecord, leaf: Leaf): string {
  let value: unknown = record;
  for (const key of leaf.keys) value = (value as Values | undefined)?.[key];
  return typeof value === "string" ? value : "";
}

/** Whether `id` can be one: a whole number from 1 to 2^53 - 1. */
export function isId(id: unknown): id is number {
  return Number.isSafeInteger(id) && (id as number) >= 1;
}

/** An ID from its decimal digits, without sign or leading zeros; undefined for anything else. */
export function toId(digits: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(digits)) return undefined;
  const id = Number(digits);
  return isId(id) ? id : undefined;
}

/** The one ID that a write names (contract section 2). @throws Refusal `ambiguous-id` for none, or two that differ */
export function oneId(candidates: readonly (number | undefined)[], hint: string): number {
  const ids = new Set(candidates.filter((id) => id !== undefined));
  const [id] = ids;
  if (id === undefined) throw new Refusal("ambiguous-id", `which record? ${hint}`);
  if (ids.size > 1)
    throw new Refusal(
      "ambiguous-id",
      `the path, the query and the body name different records: ${[...ids].join(", ")}`,
    );
  return id;
}

function readId(id: unknown, faults: Fault[]): number | undefined {
  if (id === undefined) return undefined;
  if (isId(id)) return id;
  const shown = typeof id === "number" || typeof id === "string" ? JSON.stringify(id).slice(0, 40) : kindOf(id);
  faults.push({ field: "ID", detail: `must be a whole number from 1, not ${shown}` });
  return undefined;
}

/** Where reading is: at the top of a record or in one of its groups. */
interface ReadingContext {
  readonly resource: Resource;
  readonly fields: Fields;
  /** The dotted path to here, with its last dot. */
  readonly above: string;
  /** Whether every field must come out, the absent ones empty. */
  readonly isWhole: boolean;
  readonly faults: Fault[];
}

/** The values in the order of the declaration. */
function readFields(place: ReadingContext, input: Input): Values {
  const { fields, above, isWhole, faults } = place;
  for (const name in input) {
    if (exceedsMaxFaults(faults)) break;
    if (!Object.hasOwn(fields, name) && !(name === "ID" && above === ""))
      faults.push({ field: above + name.slice(0, 100), detail: `no such field${hintFor(name, input[name], place)}` });
  }
  const values: Values = {};
  for (const name in fields) {
    const isPresent = Object.hasOwn(input, name);
    if (!isPresent && !isWhole) continue;
    const field = fields[name] as Field;
    if (field.kind === "text") values[name] = readText(field, name, place, input, isPresent);
    else {
      const value = isPresent ? input[name] : {};
      if (isInput(value))
        values[name] = readFields({ ...place, fields: field.fields, above: `${above}${name}.` }, value);
      else faults.push({ field: above + name, detail: `must be an object, not ${kindOf(value)}` });
    }
  }
  return values;
}

function readText(
  field: Text,
  name: string,
  { above, faults }: ReadingContext,
  input: Input,
  isPresent: boolean,
): string {
  const value = isPresent ? input[name] : "";
  const detail = isPresent ? textFault(field, value) : field.required ? "is required" : undefined;
  if (detail) faults.push({ field: above + name, detail });
  return value as string;
}

/** What was probably meant by an unknown field: another name, another group, or fields with something around them. */
function hintFor(name: string, value: unknown, { resource, above }: ReadingContext): string {
  const isWrapper =
    above === "" && isInput(value) && Object.keys(resource.fields).some((one) => Object.hasOwn(value, one));
  if (isWrapper) return `; send the record without \`${name.slice(0, 100)}\` around it`;
  const meant = nearestPath(above + name, fieldPaths(resource));
  if (meant === undefined) return "";
  if (meant !== above + name) return `; did you mean \`${meant}\`?`;
  const [group, ...rest] = name.split(".");
  return `; write it as \`"${group}": {"${rest.join(".")}": ...}\``;
}

function requireInput({ singular }: Resource, input: unknown): Input {
  if (isInput(input)) return input;
  const rest = Array.isArray(input) ? "; send one request for each" : `, not ${kindOf(input)}`;
  throw invalidRecord([{ field: "", detail: `the body must be one ${singular} (an object)${rest}` }]);
}

function isInput(value: unknown): value is Input {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
