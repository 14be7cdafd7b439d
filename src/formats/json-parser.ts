// Parses JSON in two ways. `JSON.parse` is several times faster, but only used where both ways have the same result. Our own parser handles everything else,
// and reports the position of each error.

import { type FieldError, fault, hasTooManyFieldErrors } from "../model/errors.ts";
import { controlDetail, escapeDetail, openStringDetail, type Place, unexpectedDetail } from "./json-advice.ts";
import { firstPosition, malformedError, maxDepth, type Position, tooDeepError } from "./syntax-errors.ts";

/** For `JSON.parse`, in UTF-16 units. Longer text is rarely a single record, and our own parser stops if there are too many values. */
const maxLength = 16 * 1024;

/**
 * Parses one JSON value. Duplicate names in an object become field errors. Objects in the result may have no prototype.
 * @param maxCount maximum values. The rest isn't read, which becomes a field error
 * @param findStart returns where `text` starts in its file, if it's part of one
 * @throws ProblemError `bad-request` with line and column, if the text is malformed or nested too deeply
 */
export function parseJson(
  text: string,
  maxCount: number,
  findStart: () => Position = () => firstPosition,
): { input: unknown; fieldErrors: FieldError[] } {
  const input = tryFastParse(text, maxCount);
  if (input !== undefined) return { input, fieldErrors: [] };
  const reader = new JsonReader(text, { maxCount, findStart });
  return { input: reader.read(), fieldErrors: reader.fieldErrors };
}

/** An object with one member left unparsed. */
interface PartlyParsed {
  /** Without the member. */
  readonly input: unknown;
  readonly fieldErrors: readonly FieldError[];
  /** Whether there were too many values, so that the rest wasn't read. */
  readonly isCut: boolean;
  /** The member's text, and the index where it starts; undefined if it's absent. */
  readonly unparsed: { readonly text: string; readonly start: number } | undefined;
}

/** Parses like `parseJson`, but only finds the end of the object's member `name`. */
export function parseJsonWithout(
  name: string,
  text: string,
  maxCount: number,
  findStart: () => Position,
): PartlyParsed {
  const reader = new JsonReader(text, { maxCount, findStart, unparsedName: name });
  const input = reader.read();
  const { fieldErrors, isCut, unparsed } = reader;
  return { input, fieldErrors, isCut, unparsed };
}

/**
 * Explains why `JSON.parse` rejected some text.
 * @param deepest maximum nesting
 * @throws ProblemError as `parseJson`
 */
export function explainSyntaxError(text: string, deepest: number): void {
  new JsonReader(text, { maxDepth: deepest }).read();
}

/** How many values there are in a value, including itself, and how many strings, including names. */
interface Counts {
  values: number;
  strings: number;
}

/** Returns undefined if the text is malformed, too long, nested too deeply, or has too many values or duplicate names. */
function tryFastParse(text: string, maxCount: number): unknown {
  if (text.length > maxLength) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const counts = { values: 0, strings: 0 };
  if (!count(value, 0, counts) || counts.values > maxCount) return undefined;
  // JSON.parse keeps only the last of several members with the same name. Then the text has more strings than the value.
  return 2 * counts.strings === quotesIn(text) ? value : undefined;
}

/** Adds to `counts`. Returns false if `value` is nested too deeply. @param depth starts at 0 */
function count(value: unknown, depth: number, counts: Counts): boolean {
  counts.values++;
  if (typeof value === "string") counts.strings++;
  if (typeof value !== "object" || value === null) return true;
  if (depth > maxDepth) return false;
  // In an array, `for...in` would make a string of each index.
  if (Array.isArray(value)) return value.every((item) => count(item, depth + 1, counts));
  for (const name in value) {
    counts.strings++;
    if (!count((value as Record<string, unknown>)[name], depth + 1, counts)) return false;
  }
  return true;
}

/** Counts the quotes that start or end a string, in valid JSON. */
function quotesIn(text: string): number {
  let quotes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) quotes++;
    else if (code === 0x5c) at++;
  }
  return quotes;
}

// Our own parser for JSON (RFC 8259). We need it because `JSON.parse` silently keeps the last of several equal names, doesn't say where text is malformed, and
// has no limits on depth or number of values.

// biome-ignore lint/suspicious/noControlCharactersInRegex: a string must not contain these characters
const plain = /[^"\\\u0000-\u001f]*/y;
const unicodeEscape = /u[0-9A-Fa-f]{4}/y;
const shortEscapes = '"\\/bfnrt';
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const word = /(?:true|false|null)(?![A-Za-z0-9_])/y;
const words: Record<string, unknown> = { true: true, false: false, null: null };

interface JsonReaderOptions {
  readonly maxCount?: number;
  readonly maxDepth?: number;
  readonly findStart?: () => Position;
  /** A member of the outermost object that isn't parsed. */
  readonly unparsedName?: string;
}

/** Objects in the result have no prototype. */
class JsonReader {
  readonly fieldErrors: FieldError[] = [];
  /** Whether reading stopped because there were too many values. */
  isCut = false;
  unparsed: PartlyParsed["unparsed"];
  readonly #text: string;
  readonly #maxCount: number;
  readonly #maxDepth: number;
  readonly #findStart: () => Position;
  readonly #unparsedName: string | undefined;
  /** The members around the current position, outermost first. */
  readonly #path: string[] = [];
  #at = 0;
  #values = 0;

  constructor(text: string, options: JsonReaderOptions) {
    this.#text = text;
    this.#maxCount = options.maxCount ?? Number.POSITIVE_INFINITY;
    this.#maxDepth = options.maxDepth ?? maxDepth;
    this.#findStart = options.findStart ?? (() => firstPosition);
    this.#unparsedName = options.unparsedName;
  }

  read(): unknown {
    const input = this.#value(0);
    this.#skipSpace();
    if (!this.isCut && this.#at < this.#text.length) this.#failAt("end");
    return input;
  }

  #value(depth: number): unknown {
    this.#skipSpace();
    if (++this.#values > this.#maxCount) return this.#cut();
    const first = this.#text[this.#at];
    if (first === '"') return this.#string();
    if (first === "{" || first === "[") {
      if (depth > this.#maxDepth) throw tooDeepError(this.#text, this.#at, this.#findStart());
      return first === "{" ? this.#object(depth) : this.#array(depth);
    }
    const literal = this.#take(word);
    if (literal !== "") return words[literal];
    const digits = this.#take(number);
    if (digits !== "") return Number(digits);
    return this.#failAt(depth === 0 && this.#isBeginning ? "start" : "value");
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = Object.create(null);
    this.#at++;
    this.#skipSpace();
    if (this.#skip("}")) return object;
    do {
      this.#member(object, depth);
      if (this.isCut) return object;
      this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("}")) this.#failAt("member");
    return object;
  }

  #member(object: Record<string, unknown>, depth: number): void {
    this.#skipSpace();
    if (this.#text[this.#at] !== '"') this.#failAt("name");
    const name = this.#string();
    this.#skipSpace();
    if (!this.#skip(":")) this.#failAt("colon");
    this.#path.push(name);
    if (name in object) this.#addFieldError();
    object[name] = depth === 0 && name === this.#unparsedName ? this.#leaveUnparsed() : this.#value(depth + 1);
    this.#path.pop();
  }

  #leaveUnparsed(): unknown {
    this.#skipSpace();
    const start = this.#at;
    const end = endOfItem(this.#text, start);
    // The value or its end is missing, so parse it to find the error.
    if (end === undefined || end === start) return this.#value(1);
    this.#at = end;
    this.unparsed = { text: this.#text.slice(start, end), start };
    return undefined;
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#at++;
    this.#skipSpace();
    if (this.#skip("]")) return array;
    do {
      array.push(this.#value(depth + 1));
      if (this.isCut) return array;
      this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("]")) this.#failAt("item");
    return array;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let at = passOver(plain, text, start + 1);
    let hasEscapes = false;
    while (text[at] === "\\") {
      hasEscapes = true;
      const end = shortEscapes.includes(text[at + 1] ?? " ") ? at + 2 : passOver(unicodeEscape, text, at + 1);
      if (end === at + 1) this.#fail(escapeDetail(text, at, start), at);
      at = passOver(plain, text, end);
    }
    if (at >= text.length) this.#fail(openStringDetail(text, start), start);
    if (text[at] !== '"') this.#fail(controlDetail(text, at), at);
    this.#at = at + 1;
    return hasEscapes ? JSON.parse(text.slice(start, at + 1)) : text.slice(start + 1, at);
  }

  #addFieldError(): void {
    if (!hasTooManyFieldErrors(this.fieldErrors))
      this.fieldErrors.push({ field: this.#path.join(".").slice(0, 200), ...fault("duplicate-field") });
  }

  #cut(): void {
    this.isCut = true;
    const max = this.#maxCount;
    this.fieldErrors.unshift({ field: "", ...fault("too-many", " values; the rest wasn't read", { max }) });
  }

  #take(pattern: RegExp): string {
    const start = this.#at;
    this.#at = passOver(pattern, this.#text, start);
    return this.#text.slice(start, this.#at);
  }

  #skipSpace(): void {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#text.charCodeAt(++this.#at);
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  /** Whether the text starts its file or body. */
  get #isBeginning(): boolean {
    const { line, column } = this.#findStart();
    return line === 1 && column === 1;
  }

  #failAt(place: Place): never {
    this.#fail(unexpectedDetail(this.#text, this.#at, place));
  }

  #fail(detail: string, at = this.#at): never {
    throw malformedError("valid JSON", this.#text, at, detail, this.#findStart());
  }
}

/** Returns the index after a match of the sticky `pattern` at `at`, or `at` itself. */
function passOver(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** Returns the index after the object or list at `start` or, for any other value, of the `,` or bracket after it. Undefined if the text ends before that. */
export function endOfItem(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = endOfString(text, at + 1);
      if (at === -1) return undefined;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if (depth === 0 && (code === 0x2c || code === 0x7d || code === 0x5d)) return at;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return undefined;
}

/** Returns the index of the quote that ends a string, or -1. @param start where the string's content starts */
export function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return -1;
}
