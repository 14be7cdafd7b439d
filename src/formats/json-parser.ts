// JSON.parse, for the texts that it reads as our reader below does and that have no fault: it is several times faster.

import { exceedsMaxFaults, type Fault } from "../model/errors.ts";
import { firstPosition, malformed, maxDepth, type Position, shownAt, tooDeep } from "./syntax-errors.ts";

/** Longer texts, of which few are one record, are for the reader: it stops as soon as there are too many values. */
const maxLength = 16 * 1024;

/** What is counted in a value: all values in it, itself included, and the names and strings. */
interface Counts {
  values: number;
  strings: number;
}

/**
 * The value of a JSON text that is valid, neither too deep nor too long, and repeats no name in an object; otherwise undefined.
 * @param maxCount the number of values that it may have
 */
export function parseFaultless(text: string, maxCount: number): unknown {
  if (text.length > maxLength) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const counts = { values: 0, strings: 0 };
  if (!count(value, 0, counts) || counts.values > maxCount) return undefined;
  // Of equal names in an object, JSON.parse keeps the last one: then the text has more strings than the value.
  return 2 * counts.strings === quotesIn(text) ? value : undefined;
}

/** Adds the counts of `value`, which is nested `depth` deep. Returns false if it is nested too deeply. */
function count(value: unknown, depth: number, counts: Counts): boolean {
  counts.values++;
  if (typeof value === "string") counts.strings++;
  if (typeof value !== "object" || value === null) return true;
  if (depth > maxDepth) return false;
  const isNamed = !Array.isArray(value);
  for (const name in value) {
    if (isNamed) counts.strings++;
    if (!count((value as Record<string, unknown>)[name], depth + 1, counts)) return false;
  }
  return true;
}

/** The number of quotes that begin or end a string in a valid JSON text. */
function quotesIn(text: string): number {
  let quotes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) quotes++;
    else if (code === 0x5c) at++;
  }
  return quotes;
}

// JSON (RFC 8259), read by our own code. `JSON.parse` keeps the last of two equal names in silence, does not say where a
// text is malformed, and reads all of it, however deep or full of values that no record has.

// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not stand in a string
const plain = /[^"\\\u0000-\u001f]*/y;
const unicodeEscape = /u[0-9A-Fa-f]{4}/y;
const shortEscapes = '"\\/bfnrt';
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const word = /(?:true|false|null)(?![A-Za-z0-9_])/y;
const words: Record<string, unknown> = { true: true, false: false, null: null };

/**
 * Reads one JSON value. A name that occurs twice in an object is a fault. Objects come without a prototype.
 * @param most after so many values the rest is not read, which is a fault too
 * @param from the position of the beginning of `text`, if that is a part of a file
 * @throws Refusal `bad-request` where the text is malformed or nested too deeply, with line and column
 */
export function readJson(text: string, most: number, from = firstPosition): { input: unknown; faults: Fault[] } {
  const reader = new JsonReader(text, most, from);
  return { input: reader.read(), faults: reader.faults };
}

class JsonReader {
  readonly faults: Fault[] = [];
  readonly #text: string;
  readonly #most: number;
  readonly #from: Position;
  /** The names on the way to where reading is. */
  readonly #path: string[] = [];
  #at = 0;
  #values = 0;
  /** Whether there were too many values: then nothing more is read. */
  #isCut = false;

  constructor(text: string, most: number, from: Position) {
    this.#text = text;
    this.#most = most;
    this.#from = from;
  }

  read(): unknown {
    const input = this.#value(0);
    this.#skipSpace();
    if (!this.#isCut && this.#at < this.#text.length) this.#refuse(`${this.#shown} follows the end of the value`);
    return input;
  }

  #value(depth: number): unknown {
    this.#skipSpace();
    if (++this.#values > this.#most) return this.#cut();
    const first = this.#text[this.#at];
    if (first === '"') return this.#string();
    if (first === "{" || first === "[") {
      if (depth > maxDepth) throw tooDeep(this.#text, this.#at, this.#from);
      return first === "{" ? this.#object(depth) : this.#array(depth);
    }
    const literal = this.#take(word);
    if (literal !== "") return words[literal];
    const digits = this.#take(number);
    if (digits !== "") return Number(digits);
    return this.#refuse(`expected a value, not ${this.#shown}${hintAt(first)}`);
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = Object.create(null);
    this.#at++;
    this.#skipSpace();
    if (this.#skip("}")) return object;
    do {
      this.#member(object, depth);
      if (this.#isCut) return object;
      this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("}")) this.#refuse(`expected \`,\` or \`}\`, not ${this.#shown}`);
    return object;
  }

  #member(object: Record<string, unknown>, depth: number): void {
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first !== '"') this.#refuse(`expected a name in double quotes, not ${this.#shown}${hintAt(first)}`);
    const name = this.#string();
    this.#skipSpace();
    if (!this.#skip(":")) this.#refuse(`expected \`:\` after the name, not ${this.#shown}`);
    this.#path.push(name);
    if (name in object) this.#addFault();
    object[name] = this.#value(depth + 1);
    this.#path.pop();
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#at++;
    this.#skipSpace();
    if (this.#skip("]")) return array;
    do {
      array.push(this.#value(depth + 1));
      if (this.#isCut) return array;
      this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("]")) this.#refuse(`expected \`,\` or \`]\`, not ${this.#shown}`);
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
      if (end === at + 1) this.#refuse("this escape does not exist; write a backslash as `\\\\`", at);
      at = passOver(plain, text, end);
    }
    if (at >= text.length) this.#refuse("the string that begins here is not closed", start);
    if (text[at] !== '"') {
      this.#refuse(`a string must not contain ${shownAt(text, at)} as it is; write a line break as \`\\n\``, at);
    }
    this.#at = at + 1;
    return hasEscapes ? JSON.parse(text.slice(start, at + 1)) : text.slice(start + 1, at);
  }

  #addFault(): void {
    if (!exceedsMaxFaults(this.faults))
      this.faults.push({ field: this.#path.join(".").slice(0, 200), detail: "appears more than once" });
  }

  #cut(): void {
    this.#isCut = true;
    this.faults.unshift({ field: "", detail: `has more than ${this.#most} values; what follows was not read` });
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

  get #shown(): string {
    return shownAt(this.#text, this.#at);
  }

  #refuse(detail: string, at = this.#at): never {
    throw malformed("valid JSON", this.#text, at, detail, this.#from);
  }
}

/** Where `pattern`, which is sticky, ends when it begins at `at`; `at` when it does not match there. */
function passOver(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** What was probably meant by a character that begins no value. */
export function hintAt(character = ""): string {
  if (character === "'") return "; JSON takes double quotes only";
  if (character === "/" || character === "#") return "; JSON has no comments";
  if (character === "}" || character === "]") return "; remove the comma before it";
  return /[A-Za-z_]/.test(character) ? "; text and names need double quotes" : "";
}
