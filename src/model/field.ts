// There are two kinds of fields: a text with constraints, and a group of fields. Others, such as `choice`, are texts with a pattern, so that the rest
// of the code only has two cases.

import { describeCharacter, describeOddity } from "../lib/characters.ts";
import { findCountry } from "../lib/country-names.ts";
import { findNearest, formatHint } from "../lib/text.ts";
import { alternatives, type Fault, fault } from "./errors.ts";

export interface TextField {
  readonly kind: "text";
  /** Maximum length in Unicode code points. */
  readonly max: number;
  readonly required: boolean;
  readonly description: string;
  readonly example: string;
  /** A regular expression for non-empty values, and the fault if one doesn't match. */
  readonly pattern?: { readonly source: string; readonly fault: Fault };
}

export interface FieldGroup {
  readonly kind: "group";
  readonly description: string;
  readonly fields: Fields;
}

export type Field = TextField | FieldGroup;
export type Fields = Readonly<Record<string, Field>>;

interface TextOptions {
  readonly max: number;
  readonly description: string;
  readonly example: string;
  readonly required?: boolean;
}

/** Any text, stored exactly as sent. */
export function text(options: TextOptions): TextField {
  return { kind: "text", required: false, ...options };
}

/** A text that must match a regular expression (ECMA-262, as in JSON Schema). @param mismatch the fault if it doesn't, or what to do about it */
export function matching(source: string, mismatch: Fault | string, options: TextOptions): TextField {
  const wrong = typeof mismatch === "string" ? fault("bad-pattern", mismatch, { pattern: source }) : mismatch;
  return { ...text(options), pattern: { source, fault: wrong } };
}

/** One of several words, or empty. */
export function choice(words: readonly string[], options: Omit<TextOptions, "max">): TextField {
  const max = Math.max(...words.map((word) => word.length));
  return matching(`^(?:${words.join("|")})?$`, fault("invalid-choice", "", { choices: words }), { max, ...options });
}

/** A UTC time with milliseconds, such as `2026-01-31T12:00:00.000Z`, or empty. */
export function instant(options: Omit<TextOptions, "max">): TextField {
  const source = "^(?:\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z)?$";
  return matching(source, fault("invalid-time"), { max: 24, ...options });
}

export function group(description: string, fields: Fields): FieldGroup {
  return { kind: "group", description, fields };
}

/**
 * Characters that XML 1.0 doesn't allow (section 2.2): control characters other than tab, LF and CR, and two noncharacters. Doesn't match lone
 * surrogates.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
export const invalidInXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;
const loneSurrogate = /\p{Cs}/u;
const patterns = new Map<string, RegExp>();

/** Returns what's wrong with a value of `field`; undefined if it's valid. */
export function validateText(field: TextField, value: unknown): Fault | undefined {
  if (typeof value !== "string") return wrongTypeFault("string", value, textHint(field, value));
  if (value === "") return field.required ? fault("required") : undefined;
  const { max, pattern, example } = field;
  const isTooLong = value.length > max && codePoints(value) > max;
  const isCountry = pattern?.fault.code === "invalid-country";
  if (isTooLong && !isCountry) {
    const hint = pattern && example !== "" ? `, such as ${example}` : "";
    return fault("too-long", `${hint} (this has ${codePoints(value)})${oddityHint(field, value)}`, { max });
  }
  const unfit = invalidInXml.exec(value);
  if (unfit) return fault("invalid-character", ` ${describeCharacter(unfit[0].charCodeAt(0))}, which XML can't carry`);
  if (!value.isWellFormed()) {
    const half = describeCharacter(loneSurrogate.exec(value)?.[0].charCodeAt(0) ?? 0);
    return fault("invalid-character", ` ${half}, or send the whole character`);
  }
  if (!pattern || (!isTooLong && compiled(pattern.source).test(value))) return undefined;
  if (isCountry) return countryFault(field, value);
  return { ...pattern.fault, detail: pattern.fault.detail + oddityHint(field, value) };
}

/** Suggests the code for a country's name, or the code without the spaces around it. */
function countryFault(field: TextField, value: string): Fault {
  const trimmed = value.trim();
  const isCode = /^[A-Za-z]{2,3}$/.test(trimmed);
  const found = isCode ? undefined : findCountry(value);
  if (found) return fault("invalid-country", ` for ${found.name}`, { suggestion: found.code });
  return fault("invalid-country", oddityHint(field, value), isCode ? { suggestion: trimmed } : {});
}

/** @param hint how to send it instead */
export function wrongTypeFault(expected: Fault["expected"] & string, value: unknown, hint = ""): Fault {
  const sent = expected === "object" ? describeNonObject(value) : describeJsonType(value);
  return fault("wrong-type", `, not ${sent}${hint}`, { expected });
}

/** @param names those of the fields that exist */
export function unknownFieldFault(name: string, names: readonly string[]): Fault {
  return fault("unknown-field", `; ${formatHint(findNearest(name, names), `use ${alternatives(names)}`, name)}`);
}

/** Returns what to send instead of something that isn't a string. */
function textHint({ required }: TextField, value: unknown): string {
  if (value === null) return required ? "" : '; leave the field out, or send `""` to empty it';
  if (typeof value === "number" || typeof value === "boolean") return "; put it in double quotes";
  return Array.isArray(value) && value.length === 1 && typeof value[0] === "string" ? "; send the string alone" : "";
}

/** Points out what people can't see in the value of a field with a pattern. Other fields can have any character. */
function oddityHint({ pattern }: TextField, value: string): string {
  const oddity = pattern && describeOddity(value);
  return oddity === undefined ? "" : `; this value ${oddity}`;
}

/** Whether a JSON value is an object, as opposed to an array or null. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the JSON type with an article, for messages: `an array`. */
export function describeJsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}

/** Also what PHP makes of an empty object. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Returns what was sent instead of an object, for messages. */
export function describeNonObject(value: unknown): string {
  if (typeof value === "string" && value.startsWith("{")) return "a string; remove the quotes around it";
  return isEmptyList(value) ? "an empty array; send `{}`" : describeJsonType(value);
}

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}

function compiled(source: string): RegExp {
  let pattern = patterns.get(source);
  if (!pattern) {
    pattern = new RegExp(source, "u");
    patterns.set(source, pattern);
  }
  return pattern;
}
