import { Refusal } from "../model/errors.ts";

/** How deep a body may nest: more than any record does. */
export const deepest = 8;

/** How many values (JSON) or elements (XML) of a request body are read: more than any record has, so a body with more has faults. */
export const mostValues = 1000;

/**
 * The refusal of a text that cannot be parsed.
 * @param form what the text is not, such as `valid JSON`
 * @param at where in `text` it goes wrong
 */
export function malformed(form: string, text: string, at: number, detail: string): Refusal {
  const { line, column } = positionOf(text, at);
  return new Refusal("bad-request", `the body is not ${form}: line ${line}, column ${column}: ${detail}`, {
    faults: [{ field: "", detail, line, column }],
  });
}

/** The refusal of a text that nests deeper than `deepest` at `at`. */
export function tooDeep(text: string, at: number): Refusal {
  const { line, column } = positionOf(text, at);
  const detail = "the body is nested too deeply";
  return new Refusal("bad-request", `${detail}: line ${line}, column ${column}`, {
    faults: [{ field: "", detail, line, column }],
  });
}

/** What stands at `at`, as a message can show it. */
export function shownAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  if (code === undefined) return "the end of the text";
  const isVisible = code > 0x20 && (code < 0x7f || code > 0xa0);
  return isVisible ? `\`${String.fromCodePoint(code)}\`` : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Both count from 1; a column is a character (code point), and a line ends as editors see it: CRLF, LF or CR. */
function positionOf(text: string, at: number): { line: number; column: number } {
  let line = 1;
  let column = 1;
  for (let index = 0; index < at; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a || (code === 0x0d && text.charCodeAt(index + 1) !== 0x0a)) {
      line++;
      column = 1;
    } else if ((code & 0xfc00) !== 0xdc00) column++;
  }
  return { line, column };
}
