// Records: checks the fields that a client has sent (`parseNewRecord`, `parseRecordChanges`), and reads stored records.
//
// Validation collects all errors of a record, so that a client can correct them together: at most 100 are reported (errors.ts). Its result has the
// fields in the order of the declaration. In a new record, a missing field is an empty text.
//
// Another program version may have stored a record with other members. A record that is sent has exactly the declared members (`toDeclaredJson`), but
// a change keeps the other members in the database (`merge`).

import { findNearestPath } from "../lib/text.ts";
import { type FieldError, hasTooManyFieldErrors, invalidRecordError, ProblemError } from "./errors.ts";
import {
  describeJsonType,
  describeNonObject,
  type Field,
  type Fields,
  isEmptyList,
  isJsonObject,
  type TextField,
  validateText,
} from "./field.ts";
import { methodAdvice } from "./parameters.ts";
import { fieldPaths, type Resource, type TextFieldPath, valuesIn } from "./resource.ts";

/** The values of a record's fields, by name; groups nest. */
export interface Values {
  [name: string]: string | Values;
}

/** A record as it is stored and sent: its ID, then its values in the order of the declaration. */
export type StorefrontRecord = { ID: number } & { [name: string]: string | number | Values };

/** A decoded record that is not validated yet. */
type Input = { readonly [name: string]: unknown };

/** The validated fields that a client sent, and the ID, if the client sent one. */
interface ParsedRecord {
  readonly id: number | undefined;
  readonly values: Values;
}

/**
 * Validates the fields that are present in `input`.
 * @param known field errors from decoding, which are reported together with the new field errors
 * @throws ProblemError `invalid-record` with all field errors
 */
export function parseRecordChanges(
  resource: Resource,
  input: unknown,
  known: readonly FieldError[] = [],
): ParsedRecord {
  const fieldErrors = [...known];
  const fields = requireInput(resource, input);
  const id = parseId(fields.ID, fieldErrors);
  const values = parseFields(
    { resource, fields: resource.fields, parentPath: "", requiresAllFields: false, fieldErrors },
    fields,
  );
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return { id, values };
}

/**
 * Validates a new record: it must have all required fields, and no ID. Missing fields are empty in the result.
 * @param known as for `parseRecordChanges`
 * @throws ProblemError `invalid-record` with all field errors
 */
export function parseNewRecord(resource: Resource, input: unknown, known: readonly FieldError[] = []): Values {
  const fieldErrors = [...known];
  const fields = requireInput(resource, input);
  if (Object.hasOwn(fields, "ID")) {
    fieldErrors.push({ field: "ID", detail: "must be absent: the server assigns the ID of a new record" });
  }
  const values = parseFields(
    { resource, fields: resource.fields, parentPath: "", requiresAllFields: true, fieldErrors },
    fields,
  );
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return values;
}

/** Returns the JSON of a record, from its ID and the JSON of its values. */
export function withId(id: number, text: string): string {
  return text === "{}" ? `{"ID":${id}}` : `{"ID":${id},${text.slice(1)}`;
}

/**
 * Returns the JSON of a stored record with exactly the members that this program version declares, in their order. A missing member becomes `""`.
 * Another program version may have stored the record with other members. Returns `json` itself if it has this form already.
 * @param json the record as `JSON.stringify` writes it
 */
export function toDeclaredJson(resource: Resource, json: string): string {
  if (resource.shape.pattern.test(json)) return json;
  const stored = JSON.parse(json);
  return JSON.stringify({ ID: stored.ID, ...valuesIn(resource.fields, stored) });
}

/**
 * Returns a copy of `record` with the fields of `changes`; `record` itself if nothing changes. Groups are merged field by field. A missing field of
 * `record` counts as empty. Members that are not declared are kept.
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

/** Returns the text of a field of `record`; `""` if it is missing. */
export function valueAt(record: StorefrontRecord, textField: TextFieldPath): string {
  return textAt(record, textField.keys);
}

/** Returns the text to which the member names `keys` lead; empty if it is missing. */
export function textAt(record: unknown, keys: readonly string[]): string {
  let value = record;
  for (const key of keys) value = (value as Values | undefined)?.[key];
  return typeof value === "string" ? value : "";
}

/** Whether `id` is an ID: a whole number from 1 to 2^53 - 1. */
export function isId(id: unknown): id is number {
  return Number.isSafeInteger(id) && (id as number) >= 1;
}

/** Parses an ID: decimal digits without a sign or leading zeros. Returns undefined for anything else. */
export function toId(digits: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(digits)) return undefined;
  const id = Number(digits);
  return isId(id) ? id : undefined;
}

/** Returns the ID that a write names (contract section 2). @throws ProblemError `ambiguous-id` if the ID is missing, or if two IDs differ */
export function requireOneId(candidates: readonly (number | undefined)[], hint: string): number {
  const ids = candidates.filter((id) => id !== undefined);
  const [id] = ids;
  if (id === undefined) throw new ProblemError("ambiguous-id", `which record? ${hint}`);
  if (ids.every((other) => other === id)) return id;
  const named = [...new Set(ids)].join(", ");
  throw new ProblemError("ambiguous-id", `the path, the query and the body name different records: ${named}`);
}

function parseId(id: unknown, fieldErrors: FieldError[]): number | undefined {
  if (id === undefined) return undefined;
  if (isId(id)) return id;
  fieldErrors.push({ field: "ID", detail: idFault(id) });
  return undefined;
}

/** Returns what is wrong with a value that is not an ID, as a phrase that follows its name. */
export function idFault(id: unknown): string {
  const isShort = typeof id === "number" || typeof id === "string";
  const shown = isShort ? JSON.stringify(id).slice(0, 100) : describeJsonType(id);
  const hint = typeof id === "string" && toId(id) ? "; send it without quotes" : "";
  return `must be a whole number from 1, not ${shown}${hint}`;
}

/** The record or group that is being validated. */
interface ParsingContext {
  readonly resource: Resource;
  readonly fields: Fields;
  /** The dotted path of the group, with a dot at its end; empty for the record. */
  readonly parentPath: string;
  /** Whether missing fields become empty in the result. If not, they are missing there too. */
  readonly requiresAllFields: boolean;
  readonly fieldErrors: FieldError[];
}

/** Validates a record or group, and adds field errors to the context. Returns the values in the order of the declaration. */
function parseFields(context: ParsingContext, input: Input): Values {
  const { fields, parentPath, requiresAllFields, fieldErrors } = context;
  for (const name in input) {
    if (hasTooManyFieldErrors(fieldErrors)) break;
    if (!Object.hasOwn(fields, name) && !(name === "ID" && parentPath === ""))
      fieldErrors.push({
        field: parentPath + name.slice(0, 100),
        detail: `no such field${fieldHint(name, input[name], context)}`,
      });
  }
  const values: Values = {};
  for (const name in fields) {
    const isPresent = Object.hasOwn(input, name);
    if (!isPresent && !requiresAllFields) continue;
    const field = fields[name] as Field;
    if (field.kind === "text") values[name] = parseText(field, name, context, input, isPresent);
    else {
      const value = isPresent ? input[name] : {};
      if (isJsonObject(value))
        values[name] = parseFields({ ...context, fields: field.fields, parentPath: `${parentPath}${name}.` }, value);
      else fieldErrors.push({ field: parentPath + name, detail: `must be an object, not ${describeNonObject(value)}` });
    }
  }
  return values;
}

function parseText(
  field: TextField,
  name: string,
  { parentPath, fieldErrors }: ParsingContext,
  input: Input,
  isPresent: boolean,
): string {
  const value = isPresent ? input[name] : "";
  const detail = isPresent ? validateText(field, value) : field.required ? "is required" : undefined;
  // Report one error per field. An error from decoding is the cause of this one.
  if (detail && !fieldErrors.some((known) => known.field === parentPath + name))
    fieldErrors.push({ field: parentPath + name, detail });
  return value as string;
}

/** Returns a suggestion for an unknown field: another name, another group, or the record without an object around it. */
function fieldHint(name: string, value: unknown, { resource, parentPath }: ParsingContext): string {
  if (name === "_method") return `; ${methodAdvice}`;
  const isWrapper =
    parentPath === "" && isJsonObject(value) && Object.keys(resource.fields).some((one) => Object.hasOwn(value, one));
  if (isWrapper) return `; send the record without \`${name.slice(0, 100)}\` around it`;
  const meant = findNearestPath(parentPath + name, fieldPaths(resource));
  if (meant === undefined) return "";
  if (meant !== parentPath + name) return `; did you mean \`${meant}\`?`;
  const [group, ...rest] = name.split(".");
  return `; write it as \`"${group}": {"${rest.join(".")}": ...}\``;
}

function requireInput({ singular }: Resource, input: unknown): Input {
  if (isJsonObject(input)) return input;
  const rest =
    Array.isArray(input) && !isEmptyList(input)
      ? "; to send several, use a batch request: POST /restapi/batch.json"
      : `, not ${describeNonObject(input)}`;
  throw invalidRecordError([{ field: "", detail: `the body must be one ${singular} (an object)${rest}` }]);
}
