// Limits of request bodies and file items, and the errors of texts that cannot be parsed.

import { characterHint, describeCharacter } from "../lib/characters.ts";
import { ProblemError } from "../model/errors.ts";
import type { Decoded } from "./format.ts";

/** Maximum nesting depth of a text. It is more than any record has. */
export const maxDepth = 8;

/** Maximum values (JSON) or elements (XML) of a request body. It is more than any record has. */
export const maxValues = 1000;

/** A position in a text, counted from 1. Columns count code points. A line ends with CRLF, LF or CR, as in editors. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export const firstPosition: Position = { line: 1, column: 1 };

/**
 * Returns the error of a text that cannot be parsed.
 * @param form the form that the text should have, such as `valid JSON`
 * @param at the index of the error in `text`
 * @param from the position of the beginning of `text` in its file, if `text` is a part of a file
 */
export function malformedError(
  form: string,
  text: string,
  at: number,
  detail: string,
  from = firstPosition,
): ProblemError {
  return malformedErrorAt(form, positionOf(text, at, from), detail);
}

/** Returns the error of a text that cannot be parsed. @param form as for `malformedError` */
export function malformedErrorAt(form: string, { line, column }: Position, detail: string): ProblemError {
  return new ProblemError("bad-request", `the body is not ${form}: line ${line}, column ${column}: ${detail}`, {
    fieldErrors: [{ field: "", detail, line, column }],
  });
}

/** Returns the error of a text that exceeds `maxDepth` at the index `at`. */
export function tooDeepError(text: string, at: number, from = firstPosition): ProblemError {
  const { line, column } = positionOf(text, at, from);
  const detail = "the body is nested too deeply";
  return new ProblemError("bad-request", `${detail}: line ${line}, column ${column}`, {
    fieldErrors: [{ field: "", detail, line, column }],
  });
}

/** Replaces "the body" by "the file" in the error of a parser that reads both. Returns any other error unchanged. */
export function toFileError(error: unknown): unknown {
  if (!(error instanceof ProblemError) || !error.message.startsWith("the body ")) return error;
  const { code, message, fieldErrors, cause } = error;
  return new ProblemError(code, message.replace("the body", "the file"), { fieldErrors, cause });
}

/** Returns the character at the index `at`, for a message. */
export function shownAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? "the end of the text" : describeCharacter(code);
}

/** Returns the unexpected character at the index `at`, and what to do about it if people can't see it or tell it apart. */
export function notShown(text: string, at: number): string {
  return `not ${shownAt(text, at)}${characterHint(text.codePointAt(at) ?? 0x20)}`;
}

/** Returns the position of the index `at` in a text whose index `start` has the position `from`. */
export function positionOf(text: string, at: number, from = firstPosition, start = 0): Position {
  let { line, column } = from;
  for (let index = start; index < at; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a || (code === 0x0d && text.charCodeAt(index + 1) !== 0x0a)) {
      line++;
      column = 1;
    } else if ((code & 0xfc00) !== 0xdc00) column++;
  }
  return { line, column };
}

/** UTF-16 units that a reader of a long text reads between two yields. */
export const stepLength = 1 << 16;

/** Returns the index after the white space of JSON and XML that begins at the index `start`. Yields between the steps of the search. */
export function* endOfSpace(text: string, start: number): Generator<undefined, number> {
  for (let at = start, step = start; ; step = at) {
    let code = text.charCodeAt(at);
    const limit = step + stepLength;
    while ((code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) && at < limit)
      code = text.charCodeAt(++at);
    if (at < limit) return at;
    yield;
  }
}

/** Returns the position of the index `at` in a long text. Yields between the steps of the search. */
export function* positionInSteps(text: string, at: number): Generator<undefined, Position> {
  let position = firstPosition;
  for (let start = 0; start < at; start += stepLength) {
    position = positionOf(text, Math.min(at, start + stepLength), position, start);
    yield;
  }
  return position;
}

// The items of a file, each with one record.

export interface FileItem {
  /** The text of the item in the file. */
  readonly text: string;
  readonly decoded: Decoded;
  /** Declarations of prefixes that the item may use, in XML; they are around it. */
  readonly declarations?: string | undefined;
}

/** Maximum UTF-16 units of an item. It limits the memory for an item without an end. */
export const maxItemLength = 1 << 20;

/** Returns the error of an item that exceeds `maxItemLength`. @param number the number of the item in its file, from 1 */
export function tooLongError(number: number): ProblemError {
  return new ProblemError(
    "bad-request",
    `record ${number} is longer than ${maxItemLength} characters; its end may be missing`,
  );
}
