// Bounds on request bodies, and the refusals of texts that cannot be parsed.

import { Refusal } from "../model/errors.ts";
import type { Decoded } from "./format.ts";

/** Nesting levels of a text; more than any record has. */
export const maxDepth = 8;

/** Values (JSON) or elements (XML) that are read of a request body; more than any record has. */
export const maxValues = 1000;

/** Where something is in a text, from 1. A column is a code point; a line ends with CRLF, LF or CR, as in editors. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export const firstPosition: Position = { line: 1, column: 1 };

/**
 * The refusal of a text that cannot be parsed.
 * @param form the form that the text lacks, such as `valid JSON`
 * @param at the index of the error in `text`
 * @param from the position of the beginning of `text`, if that is a part of a file
 */
export function malformed(form: string, text: string, at: number, detail: string, from = firstPosition): Refusal {
  const { line, column } = positionOf(text, at, from);
  return new Refusal("bad-request", `the body is not ${form}: line ${line}, column ${column}: ${detail}`, {
    faults: [{ field: "", detail, line, column }],
  });
}

/** The refusal of a text that exceeds `maxDepth` at index `at`. */
export function tooDeep(text: string, at: number, from = firstPosition): Refusal {
  const { line, column } = positionOf(text, at, from);
  const detail = "the body is nested too deeply";
  return new Refusal("bad-request", `${detail}: line ${line}, column ${column}`, {
    faults: [{ field: "", detail, line, column }],
  });
}

/** The error of a reader for request bodies and files, in the words for a file. What is no refusal stays as it is. */
export function toFileError(error: unknown): unknown {
  if (!(error instanceof Refusal) || !error.message.startsWith("the body ")) return error;
  const { code, message, faults, cause } = error;
  return new Refusal(code, message.replace("the body", "the file"), { faults, cause });
}

/** The character at index `at`, for a message. */
export function shownAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  if (code === undefined) return "the end of the text";
  const isVisible = code > 0x20 && (code < 0x7f || code > 0xa0);
  return isVisible ? `\`${String.fromCodePoint(code)}\`` : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The position of the index `at` in a text that begins at `from`. */
export function positionOf(text: string, at: number, from = firstPosition): Position {
  let { line, column } = from;
  for (let index = 0; index < at; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a || (code === 0x0d && text.charCodeAt(index + 1) !== 0x0a)) {
      line++;
      column = 1;
    } else if ((code & 0xfc00) !== 0xdc00) column++;
  }
  return { line, column };
}

// The items of a file: one of the records in it, as it is written there and as it is read.

export interface FileItem {
  /** As it is in the file. */
  readonly text: string;
  readonly decoded: Decoded;
}

/** Characters of an item. Bounds the memory for one whose end is missing. */
export const maxItemLength = 1 << 20;

/** @param number of the item, from 1 */
export function tooLong(number: number): Refusal {
  return new Refusal(
    "bad-request",
    `record ${number} is longer than ${maxItemLength} characters; its end may be missing`,
  );
}

/** The text of a file in UTF-8. @throws Refusal `bad-request` if it is something else */
export async function* decodeUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal("bad-request", "the file is not valid UTF-8", { cause: error });
    throw error;
  }
}
