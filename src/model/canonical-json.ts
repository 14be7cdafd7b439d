// Recognizes canonical JSON: a text that is valid and already has the form of a stored record, so that it need not be parsed.
//
// Most programs write a record without white space and escapes, and with its members in the order of the declaration. One regular expression can then
// tell that the record is valid, and that `JSON.stringify` would write the same text. This takes 0.2 µs, where parsing, validating and writing the
// record takes 1.7. Any other text, valid or not, is parsed and validated (`record.ts`).

import { type Field, type Fields, type TextField, validateText } from "./field.ts";

export interface CanonicalPatterns {
  /** Matches a new record: all members, no ID. Captures the value of each of `patternFields`. */
  readonly newRecord: RegExp;
  /** Matches changes of a record: any of its members. Captures the ID, and the value of each of `patternFields`. */
  readonly changed: RegExp;
  /** The text fields whose declaration has a `pattern`, in order. Their values are captured, because the regular expressions do not check them. */
  readonly patternFields: readonly TextField[];
}

/** The member of a `Resource` that this file uses. (resource.ts imports this file.) */
interface WithPatterns {
  readonly canonicalPatterns: CanonicalPatterns;
}

/** A character of a JSON string that is not escaped and is one code point. U+FFFD is left out because a decoder writes it for malformed bytes. */
const plain = String.raw`[^"\\\u0000-\u001f\ud800-\udfff\ufffd-\uffff]`;

/** A comma before another member, or the end of the object. */
const separator = String.raw`(?:,(?!\})|(?=\}))`;

/** Creates the patterns for the records of a resource. @param textFields the text fields among `fields` and in their groups, in order */
export function createCanonicalPatterns(fields: Fields, textFields: readonly TextField[]): CanonicalPatterns {
  const id = `(?:"ID":([1-9][0-9]{0,14})${separator})?`;
  return {
    newRecord: new RegExp(`^\\{${allOf(fields)}\\}$`),
    changed: new RegExp(`^\\{${id}${someOf(fields)}\\}$`),
    patternFields: textFields.filter(({ pattern }) => pattern),
  };
}

/** Whether `text` is the canonical JSON of a new record. If it is not, parse it. */
export function isCanonicalRecord(
  { canonicalPatterns: { newRecord, patternFields } }: WithPatterns,
  text: string,
): boolean {
  const match = newRecord.exec(text);
  return match !== null && areValidTexts(patternFields, match, 1);
}

/** Changes of a record, as a request contains them. */
export interface SentChanges {
  /** Undefined if the text contains no ID. */
  readonly id: number | undefined;
  /** The JSON of the changed values, without the ID. */
  readonly valuesJson: string;
}

/** Returns the changes in `text` if it is canonical JSON; otherwise undefined, and it must be parsed. */
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

/** Whether the captured values of `match` are valid texts of `patternFields`. `first` is the number of the group that captures the first of these fields. */
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
