// Limits of request bodies, and the errors of texts that cannot be parsed.

import { characterHint, describeCharacter } from "../lib/characters.ts";
import { fault, ProblemError } from "../model/errors.ts";

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
    fieldErrors: [{ field: "", ...fault("syntax", detail), line, column }],
  });
}

/** Returns the error of a text that exceeds `maxDepth` at the index `at`. */
export function tooDeepError(text: string, at: number, from = firstPosition): ProblemError {
  const { line, column } = positionOf(text, at, from);
  const detail = "the body is nested too deeply";
  return new ProblemError("bad-request", `${detail}: line ${line}, column ${column}`, {
    fieldErrors: [{ field: "", ...fault("syntax", detail), line, column }],
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

/** Returns the position of the index `at` in a text that begins at the position `from`. */
export function positionOf(text: string, at: number, from = firstPosition): Position {
  let { line, column } = from;
  let start = 0;
  let cr = text.indexOf("\r");
  let lf = text.indexOf("\n");
  // To search for each line end takes a fraction of the time that to look at each character takes.
  for (;;) {
    const isCrAlone = cr !== -1 && (lf === -1 || cr < lf - 1);
    const end = isCrAlone ? cr : lf;
    if (end === -1 || end >= at) break;
    start = end + 1;
    line++;
    column = 1;
    if (lf !== -1 && lf < start) lf = text.indexOf("\n", start);
    if (cr !== -1 && cr < start) cr = text.indexOf("\r", start);
  }
  for (let index = start; index < at; index++) if ((text.charCodeAt(index) & 0xfc00) !== 0xdc00) column++;
  return { line, column };
}
