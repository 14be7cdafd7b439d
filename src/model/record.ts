// Validates records sent by clients (`parseNewRecord`, `parseRecordChanges`), and reads stored ones.
//
// Validation collects a record's errors, up to 100 (errors.ts), so that clients can fix them in one go. The result has the fields in declaration
// order; in a new record, missing ones are empty.
//
// Another version of the program may have stored records with other members. We send exactly the declared ones (`toDeclaredJson`), but changes keep
// the others in the database (`merge`).

import { describeOddity } from "../lib/characters.ts";
import { formatHint, normalizeName } from "../lib/text.ts";
import {
  type ErrorLimits,
  type Fault,
  type FieldError,
  fault,
  fullLimits,
  hasTooManyFieldErrors,
  invalidRecordError,
  ProblemError,
} from "./errors.ts";
import {
  describeJsonType,
  describeNonObject,
  type Field,
  type Fields,
  isEmptyList,
  isJsonObject,
  type TextField,
  validateText,
  wrongTypeFault,
} from "./field.ts";
import { findMeantField } from "./field-vocabulary.ts";
import { methodAdvice } from "./parameters.ts";
import { basePath, type Resource, type TextFieldPath, valuesIn } from "./resource.ts";

/** Field values by name; groups nest. */
export interface Values {
  [name: string]: string | Values;
}

/** A record as stored and sent: its ID, then its values in declaration order. */
export type StorefrontRecord = { ID: number } & { [name: string]: string | number | Values };

/** A decoded record, not validated yet. */
type Input = { readonly [name: string]: unknown };

/** The validated fields, and the ID if the client sent one. */
interface ParsedRecord {
  readonly id: number | undefined;
  readonly values: Values;
}

/**
 * Validates the fields that are present in `input`.
 * @param known errors from decoding, reported along with those found here
 * @throws ProblemError `invalid-record` with all field errors
 */
export function parseRecordChanges(
  resource: Resource,
  input: unknown,
  known: readonly FieldError[] = [],
  limits = fullLimits,
): ParsedRecord {
  const fieldErrors = [...known];
  const fields = requireInput(resource, input);
  const id = parseId(fields.ID, fieldErrors);
  const values = parseFields(
    { resource, fields: resource.fields, parentPath: "", requiresAllFields: false, fieldErrors, limits },
    fields,
  );
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors, limits);
  return { id, values };
}

/**
 * Validates a new record, which must have all required fields and no ID. Missing fields become empty.
 * @param known as for `parseRecordChanges`
 * @throws ProblemError `invalid-record` with all field errors
 */
export function parseNewRecord(
  resource: Resource,
  input: unknown,
  known: readonly FieldError[] = [],
  limits = fullLimits,
): Values {
  const fieldErrors = [...known];
  const fields = requireInput(resource, input);
  if (Object.hasOwn(fields, "ID")) fieldErrors.push(idOfNewRecord);
  const values = parseFields(
    { resource, fields: resource.fields, parentPath: "", requiresAllFields: true, fieldErrors, limits },
    fields,
  );
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors, limits);
  return values;
}

export const idOfNewRecord: FieldError = {
  field: "ID",
  ...fault("read-only", "; the server assigns the ID of a new record"),
};

/** Adds the ID to the JSON of a record's values. */
export function withId(id: number, text: string): string {
  return text === "{}" ? `{"ID":${id}}` : `{"ID":${id},${text.slice(1)}`;
}

/**
 * Returns the JSON of a stored record with exactly the members we declare, in their order. Another version of the program may have stored it with
 * others. Missing members become `""`. Returns `json` itself if it already has this form.
 * @param json the record as `JSON.stringify` writes it
 */
export function toDeclaredJson(resource: Resource, json: string): string {
  if (resource.shape.pattern.test(json)) return json;
  const stored = JSON.parse(json);
  return JSON.stringify({ ID: stored.ID, ...valuesIn(resource.fields, stored) });
}

/**
 * Returns `record` with `changes` applied, or `record` itself if nothing changes. Groups are merged field by field. Missing fields of `record` count
 * as empty, and undeclared members are kept.
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

/** Returns the text of a field, or `""` if it's missing. */
export function valueAt(record: StorefrontRecord, textField: TextFieldPath): string {
  return textAt(record, textField.keys);
}

/** Returns the text at the end of the path `keys`, or `""` if it's missing. */
export function textAt(record: unknown, keys: readonly string[]): string {
  let value = record;
  for (const key of keys) value = (value as Values | undefined)?.[key];
  return typeof value === "string" ? value : "";
}

/** Whether `id` is a whole number from 1 to 2^53 - 1. */
export function isId(id: unknown): id is number {
  return Number.isSafeInteger(id) && (id as number) >= 1;
}

/** Parses decimal digits without a sign or leading zeros; undefined for anything else. */
export function toId(digits: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(digits)) return undefined;
  const id = Number(digits);
  return isId(id) ? id : undefined;
}

/** Returns the ID of the record a write is for (contract section 2). @throws ProblemError `ambiguous-id` if there's none, or if they differ */
export function requireOneId(candidates: readonly (number | undefined)[], hint: string): number {
  const ids = candidates.filter((id) => id !== undefined);
  const [id] = ids;
  if (id === undefined) throw new ProblemError("ambiguous-id", `no record given: ${hint}`);
  if (ids.every((other) => other === id)) return id;
  const named = [...new Set(ids)].join(", ");
  throw new ProblemError("ambiguous-id", `the path, the query and the body name different records: ${named}`);
}

function parseId(id: unknown, fieldErrors: FieldError[]): number | undefined {
  if (id === undefined) return undefined;
  if (isId(id)) return id;
  fieldErrors.push({ field: "ID", ...idFault(id) });
  return undefined;
}

export function idFault(id: unknown): Fault {
  const isShort = typeof id === "number" || typeof id === "string";
  const shown = isShort ? JSON.stringify(id).slice(0, 100) : describeJsonType(id);
  const hint = typeof id === "string" && toId(id) ? "; remove the quotes" : "";
  const oddity = typeof id === "string" ? describeOddity(id) : undefined;
  return fault("invalid-id", `, not ${shown}${hint}${oddity === undefined ? "" : `, which ${oddity}`}`);
}

/** The record or group being validated. */
interface ParsingContext {
  readonly resource: Resource;
  readonly fields: Fields;
  /** The group's dotted path, with a dot at the end; empty for the record itself. */
  readonly parentPath: string;
  /** Whether missing fields become empty in the result. Otherwise they're left out. */
  readonly requiresAllFields: boolean;
  readonly fieldErrors: FieldError[];
  readonly limits: ErrorLimits;
}

/** Validates a record or group and adds its errors to the context. Returns the values in declaration order. */
function parseFields(context: ParsingContext, input: Input): Values {
  const { fields, parentPath, requiresAllFields, fieldErrors, limits } = context;
  for (const name in input) {
    if (hasTooManyFieldErrors(fieldErrors, limits)) break;
    if (Object.hasOwn(fields, name) || (name === "ID" && parentPath === "")) continue;
    const hint = fieldErrors.length < limits.maxHints ? fieldHint(name, input, context) : "";
    fieldErrors.push({ field: parentPath + name.slice(0, 100), ...fault("unknown-field", hint) });
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
      else {
        const hint = groupHint(context.resource, parentPath + name, value);
        fieldErrors.push({ field: parentPath + name, ...wrongTypeFault("object", value, hint) });
      }
    }
  }
  return values;
}

/** If a text was sent in place of a group, says where it belongs. */
function groupHint(resource: Resource, path: string, value: unknown): string {
  const field = typeof value === "string" ? findMeantField(resource, path) : undefined;
  return field?.startsWith(`${path}.`) ? `; write it as \`{"${field.slice(path.length + 1)}": ...}\`` : "";
}

function parseText(
  field: TextField,
  name: string,
  { parentPath, fieldErrors }: ParsingContext,
  input: Input,
  isPresent: boolean,
): string {
  const value = isPresent ? input[name] : "";
  const wrong = isPresent ? validateText(field, value) : field.required ? fault("required") : undefined;
  // Report one error per field. If decoding found one, this one only follows from it.
  if (wrong && !fieldErrors.some((known) => known.field === parentPath + name))
    fieldErrors.push({ field: parentPath + name, ...wrong });
  return value as string;
}

/** How many members of an object we search for a record in it, or for a group's fields. */
const maxSearched = 10;
/** How deep we look for a record inside other objects and lists: enough for the edges and nodes of GraphQL. */
const maxWrappers = 5;

/** Suggests what to do about an unknown field: use another name, put it in another group, or unwrap the record. */
function fieldHint(name: string, input: Input, { resource, fields, parentPath }: ParsingContext): string {
  if (name === "_method") return `; ${methodAdvice}`;
  const value = input[name];
  const wrapped = hasField(fields, input) ? undefined : findWrapped(fields, value);
  if (wrapped) return `; ${unwrap([name, ...wrapped.path], wrapped.isList, parentPath, resource)}`;
  if (name === "Operations" && Array.isArray(value)) return `; send a batch request to ${basePath}batch.json`;
  const members = isJsonObject(value) ? Object.keys(value).slice(0, maxSearched) : undefined;
  const meant = findMeantField(resource, parentPath + name, members);
  if (meant === parentPath + name) {
    const [group, ...rest] = name.split(".");
    return `; write it as \`"${group}": {"${rest.join(".")}": ...}\``;
  }
  const group = parentPath.slice(0, -1);
  // If the field it resembles was sent too, it's probably not that one.
  const isSent = meant !== undefined && Object.hasOwn(input, meant) && normalizeName(meant) !== normalizeName(name);
  if (isSent) return "";
  const hint = formatHint(meant, group && `\`${group}\` has ${Object.keys(fields).join(", ")}`, name);
  return hint && `; ${hint}`;
}

/** The path to a record inside other objects. */
interface Wrapped {
  readonly path: readonly string[];
  /** Whether the last object holds a list of records. */
  readonly isList: boolean;
}

/** Returns the dotted path to the list of records that `input` wraps; undefined if it's a record itself, or there's no such list. */
export function findListOfRecords({ fields }: Resource, input: unknown): string | undefined {
  const wrapped = isJsonObject(input) && !hasField(fields, input) ? findWrapped(fields, input) : undefined;
  return wrapped?.isList ? wrapped.path.join(".").slice(0, 200) : undefined;
}

function hasField(fields: Fields, input: Input): boolean {
  return Object.keys(fields).some((name) => Object.hasOwn(input, name));
}

/** Finds the object with these fields inside a value. Only looks at a few members. */
function findWrapped(fields: Fields, value: unknown, depth = 1): Wrapped | undefined {
  if (Array.isArray(value)) {
    const inItem = findWrapped(fields, value[0], depth + 1);
    return inItem && { ...inItem, isList: true };
  }
  if (!isJsonObject(value)) return undefined;
  if (isSomeOf(fields, value)) return { path: [], isList: false };
  if (depth >= maxWrappers) return undefined;
  for (const name of Object.keys(value).slice(0, maxSearched)) {
    const inner = findWrapped(fields, value[name], depth + 1);
    if (inner) return { ...inner, path: [name, ...inner.path] };
  }
  return undefined;
}

/** Whether a member is named like a field, in any notation. */
function isSomeOf(fields: Fields, value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const names = new Set(Object.keys(value).slice(0, maxSearched).map(normalizeName));
  return Object.keys(fields).some((field) => names.has(normalizeName(field)));
}

function unwrap(path: readonly string[], isList: boolean, parentPath: string, resource: Resource): string {
  const shown = path.map((name) => name.slice(0, 100)).join(".");
  if (parentPath !== "") return `write its members in \`${parentPath.slice(0, -1)}\` itself`;
  if (!isList) return `send the record without \`${shown}\` around it`;
  return `send one record of \`${shown}\` alone, or several ${severalAdvice(resource, "json")}`;
}

/** Completes "send several …". Webhooks can't be in a batch. */
export function severalAdvice({ access }: Resource, format: string): string {
  return access === "written" ? `as a batch request: POST ${basePath}batch.${format}` : "in one request each";
}

function requireInput(resource: Resource, input: unknown): Input {
  if (isJsonObject(input)) return input;
  const hint = ` with one ${resource.singular}${otherInputHint(resource, input)}`;
  throw invalidRecordError([{ field: "", ...fault("wrong-type", hint, { expected: "object" }) }]);
}

function otherInputHint(resource: Resource, input: unknown): string {
  if (typeof input === "string" && /^\s*[[{]/.test(input))
    return ", not a string with JSON in it: your JSON was encoded twice";
  if (!Array.isArray(input) || isEmptyList(input)) return `, not ${describeNonObject(input)}`;
  const patch = fieldsOfPatch(resource, input);
  if (patch !== undefined) return `, not a JSON Patch; send the fields to change with PUT or PATCH${patch}`;
  const alone = input.length === 1 ? ": remove the `[` and `]` around it" : "";
  const several =
    resource.access === "written" ? `use a batch request: POST ${basePath}batch.json` : "use one request each";
  return `, not an array${alone}; to send several, ${several}`;
}

/** How much of a JSON Patch we convert, in operations, and show, in characters. */
const [maxPatchOperations, maxShownPatch] = [10, 200];

/** Returns the fields that a JSON Patch (RFC 6902) sets, for a message; empty if it does anything else, undefined if it isn't one. */
function fieldsOfPatch({ textFields }: Resource, list: readonly unknown[]): string | undefined {
  const isOperation = (one: unknown) => isJsonObject(one) && typeof one.op === "string" && typeof one.path === "string";
  if (!list.slice(0, maxPatchOperations).every(isOperation) || list.length === 0) return undefined;
  const fields: Record<string, unknown> = Object.create(null);
  for (const { op, path, value } of list.slice(0, maxPatchOperations) as Record<string, unknown>[]) {
    const text = op === "remove" ? "" : value;
    const field = textFields.find(({ keys }) => `/${keys.join("/")}` === path);
    if (!field || typeof text !== "string" || !["add", "replace", "remove"].includes(op as string)) return "";
    const [name = "", member] = field.keys;
    fields[name] = member === undefined ? text : { ...(fields[name] as object), [member]: text };
  }
  const json = JSON.stringify(fields);
  return list.length > maxPatchOperations || json.length > maxShownPatch ? "" : `: \`${json}\``;
}
