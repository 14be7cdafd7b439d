// Limits of request bodies, and errors in text that can't be parsed.

import { characterHint, describeCharacter } from "../lib/characters.ts";
import { fault, ProblemError } from "../model/errors.ts";

/** Maximum nesting, which no record reaches. */
export const maxDepth = 8;

/** Maximum values (JSON) or elements (XML) in a body, which no record reaches. */
export const maxValues = 1000;

/** Starts at 1. Columns count code points. Lines end with CRLF, LF or CR, as in editors. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export const firstPosition: Position = { line: 1, column: 1 };

/**
 * @param form what the text should be, such as `valid JSON`
 * @param at the error's index in `text`
 * @param from where `text` starts in its file, if it's part of one
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

/** @param form as for `malformedError` */
export function malformedErrorAt(form: string, { line, column }: Position, detail: string): ProblemError {
  return new ProblemError("bad-request", `the body isn't ${form}: line ${line}, column ${column}: ${detail}`, {
    fieldErrors: [{ field: "", ...fault("syntax", detail), line, column }],
  });
}

export function tooDeepError(text: string, at: number, from = firstPosition): ProblemError {
  const { line, column } = positionOf(text, at, from);
  const detail = "the body is nested too deeply";
  return new ProblemError("bad-request", `${detail}: line ${line}, column ${column}`, {
    fieldErrors: [{ field: "", ...fault("syntax", detail), line, column }],
  });
}

/** Parsers read bodies and files. This replaces "the body" with "the file" in their errors. */
export function toFileError(error: unknown): unknown {
  if (!(error instanceof ProblemError) || !error.message.startsWith("the body ")) return error;
  const { code, message, fieldErrors, cause } = error;
  return new ProblemError(code, message.replace("the body", "the file"), { fieldErrors, cause });
}

/** Shows the character at index `at` in a message. */
export function shownAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? "the end of the text" : describeCharacter(code);
}

/** Shows an unexpected character and, if people can't see it or tell it apart, what to do about it. */
export function notShown(text: string, at: number): string {
  return `not ${shownAt(text, at)}${characterHint(text.codePointAt(at) ?? 0x20)}`;
}

/** Returns the position of index `at` in text that starts at `from`. */
export function positionOf(text: string, at: number, from = firstPosition): Position {
  let { line, column } = from;
  let start = 0;
  let cr = text.indexOf("\r");
  let lf = text.indexOf("\n");
  // Searching for line ends takes a fraction of the time of looking at every character.
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
