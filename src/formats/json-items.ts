// Reads the items of a JSON list one after the other, so that the list can have any size. This file only finds the end of each item; the item is then
// parsed as one value (json-parser.ts).

import { ProblemError } from "../model/errors.ts";
import { type Place, unexpectedDetail } from "./json-advice.ts";
import { parseJson } from "./json-parser.ts";
import {
  type FileItem,
  firstPosition,
  malformedError,
  maxItemLength,
  maxValues,
  positionOf,
  tooLongError,
} from "./syntax-errors.ts";

/**
 * Yields the items of a JSON list, or the only value of a text that is not a list.
 * @throws ProblemError `bad-request` if the text is malformed or empty, or has an item longer than `maxItemLength`
 */
export async function* readJsonItems(chunks: AsyncIterable<string>): AsyncGenerator<FileItem> {
  const text = new ArrivingText(chunks);
  await text.skipSpace();
  if (text.next === undefined) throw new ProblemError("bad-request", "the file is empty");
  if (text.isAt("{")) while (await text.more());
  if (!text.isAt("[")) return yield text.read();
  text.at++;
  await text.skipSpace();
  let separator = text.isAt("]") ? await text.separator() : ",";
  while (separator === ",") {
    yield text.read(await text.endOfItem());
    separator = await text.separator();
  }
  await text.skipSpace();
  if (text.next !== undefined) text.failAt("end");
}

/** The part of a text that has arrived and was not read yet. It begins at the index `at`. */
class ArrivingText {
  at = 0;
  readonly #chunks: AsyncIterator<string>;
  #text = "";
  /** The position of the beginning of `#text` in the file. */
  #from = firstPosition;
  /** The number of items that were read. */
  #count = 0;

  constructor(chunks: AsyncIterable<string>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  get next(): string | undefined {
    return this.#text[this.at];
  }

  isAt(character: string): boolean {
    return this.next === character;
  }

  /** Waits for the next chunk, and discards the text before `at`. Returns false at the end of the text. */
  async more(): Promise<boolean> {
    if (this.#text.length - this.at > maxItemLength) throw tooLongError(this.#count + 1);
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#from = positionOf(this.#text, this.at, this.#from);
    this.#text = this.#text.slice(this.at) + value;
    this.at = 0;
    return true;
  }

  async skipSpace(): Promise<void> {
    do {
      while (this.next !== undefined && " \n\r\t".includes(this.next)) this.at++;
    } while (this.next === undefined && (await this.more()));
  }

  /** Returns the index after the item that begins at `at`; undefined if the text ends within the item. */
  async endOfItem(): Promise<number | undefined> {
    for (;;) {
      const end = endOfItem(this.#text, this.at);
      if (end !== undefined || !(await this.more())) return end;
    }
  }

  /** Parses the item that begins at `at` and ends before the index `end`, by default the end of the text. @throws ProblemError `bad-request` */
  read(end = this.#text.length): FileItem {
    const text = this.#text.slice(this.at, end);
    const item = text.trim();
    if (item.length > maxItemLength) throw tooLongError(this.#count + 1);
    const separator = this.#text[end];
    if (separator !== undefined && /^[ \t\r\n]*$/.test(text)) {
      this.at = end;
      this.failAt("value");
    }
    const decoded = parseJson(text, Number.POSITIVE_INFINITY, () => positionOf(this.#text, this.at, this.#from));
    this.at = end;
    this.#count++;
    return { text: item, decoded };
  }

  /** Reads and returns the `,` before the next item, or the `]` at the end of the list. */
  async separator(): Promise<string> {
    await this.skipSpace();
    const { next } = this;
    if (next !== "," && next !== "]") this.failAt("item");
    this.at++;
    return next;
  }

  failAt(place: Place): never {
    const detail = unexpectedDetail(this.#text, this.at, place);
    throw malformedError("valid JSON", this.#text, this.at, detail, this.#from);
  }
}

/**
 * Returns the index after the object or list that begins at `start`; for any other value, the index of the `,` or bracket after it.
 * @param limit the index at which to stop; then the result is undefined
 */
export function endOfItem(text: string, start: number, limit = text.length): number | undefined {
  let depth = 0;
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = endOfString(text, at + 1, limit);
      if (at === -1) return undefined;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if (depth === 0 && (code === 0x2c || code === 0x7d || code === 0x5d)) return at;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return undefined;
}

/** Returns the index of the quote that ends a string; -1 if no quote ends it before `limit`. The content of the string begins at `start`. */
export function endOfString(text: string, start: number, limit = text.length): number {
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return -1;
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
