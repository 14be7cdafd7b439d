// Reads a JSON list item by item. This only finds where each item ends; json-parser.ts then parses it as one value.

import { ProblemError } from "../model/errors.ts";
import { type FileItem, type ItemErrors, type ItemReader, itemsOfFile, maxItemLength, recordErrors } from "./items.ts";
import { openStringDetail, type Place, unexpectedDetail } from "./json-advice.ts";
import { endOfItem, endOfString, parseJson } from "./json-parser.ts";
import { firstPosition, malformedError, maxValues, type Position, positionOf } from "./syntax-errors.ts";

export interface JsonItem {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** Returns the position at which `text` begins. */
  readonly findStart: () => Position;
}

/**
 * Yields the records of a file: the items of a list, or the only value of a text that isn't a list.
 * @throws ProblemError `bad-request` if the text is malformed or empty, or has a record longer than `maxItemLength`
 */
export async function* readJsonRecords(chunks: AsyncIterable<string>): AsyncGenerator<FileItem> {
  for await (const { text, findStart } of itemsOfFile(recordItems(), chunks))
    yield { text: text.trim(), decoded: parseJson(text, Number.POSITIVE_INFINITY, findStart) };
}

function* recordItems(): ItemReader<JsonItem> {
  const text = new JsonText(recordErrors);
  yield* text.skipSpace();
  if (text.next === undefined) throw new ProblemError("bad-request", "the file is empty");
  if (text.next === "[") yield* text.list();
  else yield yield* text.wholeText();
  yield* text.end();
}

/** JSON that has arrived but hasn't been read yet. Its methods are parts of an `ItemReader`. */
export class JsonText {
  readonly #errors: ItemErrors;
  #text = "";
  #at = 0;
  /** The position of the beginning of `#text` in the whole text. */
  #from = firstPosition;
  #count = 0;

  constructor(errors: ItemErrors) {
    this.#errors = errors;
  }

  /** The next character, if it has arrived. After `skipSpace`, it's undefined only at the end of the text. */
  get next(): string | undefined {
    return this.#text[this.#at];
  }

  *skipSpace(): Generator<undefined, void, string | undefined> {
    do {
      let code = this.#text.charCodeAt(this.#at);
      while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#text.charCodeAt(++this.#at);
    } while (this.#at === this.#text.length && (yield* this.#more()));
  }

  skip(character: string): boolean {
    if (this.next !== character) return false;
    this.#at++;
    return true;
  }

  /** Yields the items of the list that begins here. */
  *list(): ItemReader<JsonItem> {
    this.#at++;
    yield* this.skipSpace();
    if (this.skip("]")) return;
    do {
      if (this.#isAtSpace) yield* this.skipSpace();
      let end = endOfItem(this.#text, this.#at);
      while (end === undefined && (yield* this.#more())) end = endOfItem(this.#text, this.#at);
      if (end === this.#at) throw this.#errors.inItem(this.#count + 1, this.error("value"));
      yield this.#itemTo(end ?? this.#text.length);
      if (this.#isAtSpace) yield* this.skipSpace();
    } while (this.skip(","));
    if (!this.skip("]")) throw this.error("item");
  }

  /** Returns the text from here on as one item. Waits for its end if it's an object. */
  *wholeText(): Generator<undefined, JsonItem, string | undefined> {
    while (this.next === "{" && (yield* this.#more()));
    return this.#itemTo(this.#text.length);
  }

  /** Reads the name of a member, which is expected here. */
  *name(): Generator<undefined, string, string | undefined> {
    if (this.next !== '"') throw this.error("name");
    let end = endOfString(this.#text, this.#at + 1);
    while (end === -1 && (yield* this.#more())) end = endOfString(this.#text, this.#at + 1);
    if (end === -1) throw this.#error(openStringDetail(this.#text, this.#at));
    const json = this.#text.slice(this.#at, end + 1);
    const { input } = parseJson(json, maxValues, () => positionOf(this.#text, this.#at, this.#from));
    this.#at = end + 1;
    return String(input);
  }

  /** Requires that only white space follows. */
  *end(): Generator<undefined, void, string | undefined> {
    yield* this.skipSpace();
    if (this.next !== undefined) throw this.error("end");
  }

  /** Returns the error of a text that has something else here. */
  error(place: Place): ProblemError {
    return this.#error(unexpectedDetail(this.#text, this.#at, place));
  }

  #error(detail: string): ProblemError {
    return malformedError("valid JSON", this.#text, this.#at, detail, this.#from);
  }

  /** Whether white space or the end of the chunk is here. Otherwise, the call of a generator is saved. */
  get #isAtSpace(): boolean {
    return !(this.#text.charCodeAt(this.#at) > 0x20);
  }

  #itemTo(end: number): JsonItem {
    const number = ++this.#count;
    if (end - this.#at > maxItemLength) throw this.#errors.tooLong(number);
    const [text, at, from] = [this.#text, this.#at, this.#from];
    this.#at = end;
    return { number, text: text.slice(at, end), findStart: () => positionOf(text, at, from) };
  }

  /** Waits for the next chunk, and discards what was read. Returns false at the end of the text. */
  *#more(): Generator<undefined, boolean, string | undefined> {
    if (this.#text.length - this.#at > maxItemLength) throw this.#errors.tooLong(this.#count + 1);
    const chunk = yield;
    if (chunk === undefined) return false;
    // A CR stays, because it's known only now whether an LF follows, which belongs to the same line end.
    const start = this.#text.endsWith("\r", this.#at) ? this.#at - 1 : this.#at;
    this.#from = positionOf(this.#text, start, this.#from);
    this.#text = this.#text.slice(start) + chunk;
    this.#at -= start;
    return true;
  }
}

/** Limits of a text for `JSON.parse`, which takes a third of a second for 1 MiB of brackets, and a tenth for as many members of one object. */
interface JsonLimits {
  /** Maximum nesting of objects and lists. */
  readonly maxDepth: number;
  readonly maxValues: number;
}

/**
 * Says what a JSON text has too much of: levels, values, or members in one object (`maxValues` of syntax-errors.ts). Takes one pass and parses nothing;
 * up to the first syntax error, it counts right.
 */
export function excessIn(text: string, { maxDepth, maxValues: maxCount }: JsonLimits): string | undefined {
  const members = new Uint32Array(maxDepth + 1);
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = endOfString(text, at + 1);
      if (at === -1) return undefined;
    } else if (code === 0x2c || code === 0x7b || code === 0x5b) {
      if (code !== 0x2c && ++depth > maxDepth) return `is nested more than ${maxDepth} levels deep`;
      if (code !== 0x2c) members[depth] = 0;
      if (++values > maxCount) return `has more than ${maxCount} values`;
    } else if (code === 0x3a) {
      const count = (members[depth] ?? 0) + 1;
      if (count > maxValues) return `has an object with more than ${maxValues} members`;
      members[depth] = count;
    } else if ((code === 0x7d || code === 0x5d) && depth > 0) depth--;
  }
  return undefined;
}
