// Recognizes canonical JSON: valid text that's already in the form a record is stored in, so there's no need to parse it.
//
// Most programs send records without white space or escapes, and with the members in declaration order. For those, one regular expression can tell
// that the record is valid and that `JSON.stringify` would produce the same text. That takes 0.2 µs instead of the 1.7 for parsing, validating and
// writing. Everything else is parsed and validated in `record.ts`.

import { type Field, type Fields, type TextField, validateText } from "./field.ts";

export interface CanonicalPatterns {
  /** Matches a new record: all members, no ID. Captures the value of each of `patternFields`. */
  readonly newRecord: RegExp;
  /** Matches changes to a record: any of its members. Captures the ID and the value of each of `patternFields`. */
  readonly changed: RegExp;
  /** The text fields declared with a `pattern`, in order. The regular expressions capture their values but don't check them. */
  readonly patternFields: readonly TextField[];
}

/** The one member of `Resource` needed here. (Importing `Resource` would be circular.) */
interface WithPatterns {
  readonly canonicalPatterns: CanonicalPatterns;
}

/** An unescaped character of a JSON string that's a single code point. U+FFFD is excluded because decoders put it in place of malformed bytes. */
const plain = String.raw`[^"\\\u0000-\u001f\ud800-\udfff\ufffd-\uffff]`;

/** A comma before another member, or the end of the object. */
const separator = String.raw`(?:,(?!\})|(?=\}))`;

/** @param textFields the text fields in `fields` and its groups, in order */
export function createCanonicalPatterns(fields: Fields, textFields: readonly TextField[]): CanonicalPatterns {
  const id = `(?:"ID":([1-9][0-9]{0,14})${separator})?`;
  return {
    newRecord: new RegExp(`^\\{${allOf(fields)}\\}$`),
    changed: new RegExp(`^\\{${id}${someOf(fields)}\\}$`),
    patternFields: textFields.filter(({ pattern }) => pattern),
  };
}

/** Whether `text` is the canonical JSON of a new record. If not, it may still be valid, so parse it. */
export function isCanonicalRecord(
  { canonicalPatterns: { newRecord, patternFields } }: WithPatterns,
  text: string,
): boolean {
  const match = newRecord.exec(text);
  return match !== null && areValidTexts(patternFields, match, 1);
}

/** Changes to a record, as sent in a request. */
export interface SentChanges {
  /** Undefined if no ID was sent. */
  readonly id: number | undefined;
  /** JSON of the changed values, without the ID. */
  readonly valuesJson: string;
}

/** Returns the changes if `text` is canonical JSON; undefined if it has to be parsed. */
export function matchCanonicalChanges(
  { canonicalPatterns: { changed, patternFields } }: WithPatterns,
  text: string,
): SentChanges | undefined {
  const match = changed.exec(text);
  if (!match || !areValidTexts(patternFields, match, 2)) return undefined;
  const digits = match[1];
  if (digits === undefined) return { id: undefined, valuesJson: text };
  const end = '{"ID":'.length + digits.length;
  return { id: Number(digits), valuesJson: `{${text.slice(text[end] === "," ? end + 1 : end)}` };
}

/** Checks the captured values of `patternFields`. @param first the capture group of the first of these fields */
function areValidTexts(patternFields: readonly TextField[], match: RegExpExecArray, first: number): boolean {
  for (let index = 0; index < patternFields.length; index++) {
    const value = match[first + index];
    if (value !== undefined && validateText(patternFields[index] as TextField, value) !== undefined) return false;
  }
  return true;
}

function allOf(fields: Fields): string {
  return membersOf(fields, allOf).join(",");
}

function someOf(fields: Fields): string {
  return membersOf(fields, someOf)
    .map((member) => `(?:${member}${separator})?`)
    .join("");
}

function membersOf(fields: Fields, groupOf: (fields: Fields) => string): string[] {
  return Object.entries(fields).map(([name, field]: [string, Field]) => {
    const value = field.kind === "group" ? `\\{${groupOf(field.fields)}\\}` : `"${textOf(field)}"`;
    return `${RegExp.escape(JSON.stringify(name))}:${value}`;
  });
}

function textOf({ max, required, pattern }: TextField): string {
  const text = `${plain}{${required ? 1 : 0},${max}}`;
  return pattern ? `(${text})` : text;
}
