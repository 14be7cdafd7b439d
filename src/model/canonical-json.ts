// JSON texts that need no reading. Most programs write a record without white space and escapes, and its members in the order of
// the declaration. One regular expression finds that such a text has no fault, and that it is what `JSON.stringify` would make
// of the record that it holds, for a tenth of the time that parsing, checking and writing it take (docs/performance.md). Any
// other text, with or without a fault, is for the reader (`record.ts`).

import { type Field, type Fields, type Text, textFault } from "./field.ts";
import type { Resource } from "./resource.ts";

export interface FaultlessPatterns {
  /** Matches a new record: all members, and no ID. A group for each of `checked`. */
  readonly created: RegExp;
  /** Matches some members of a record. A group for its ID, and one for each of `checked`. */
  readonly changed: RegExp;
  /** The fields whose texts have to match a pattern of their own. */
  readonly checked: readonly Text[];
}

/** Characters of a JSON string that stand for themselves, and are one code point each. U+FFFD may stand for malformed bytes. */
const plain = String.raw`[^"\\\u0000-\u001f\ud800-\udfff\ufffd-\uffff]`;

/** A comma before another member, or the end of the object. */
const separator = String.raw`(?:,(?!\})|(?=\}))`;

/** @param leaves the text fields among `fields` and in their groups, in order */
export function faultlessPatterns(fields: Fields, leaves: readonly Text[]): FaultlessPatterns {
  const id = `(?:"ID":([1-9][0-9]{0,14})${separator})?`;
  return {
    created: new RegExp(`^\\{${allOf(fields)}\\}$`),
    changed: new RegExp(`^\\{${id}${someOf(fields)}\\}$`),
    checked: leaves.filter(({ pattern }) => pattern),
  };
}

/** Whether `text` holds the values of a new record. If not, it has to be read. */
export function isFaultlessRecord({ faultless: { created, checked } }: Resource, text: string): boolean {
  const match = created.exec(text);
  return match !== null && areFaultless(checked, match, 1);
}

/** Changes of a record as a request names them. */
export interface RecordChanges {
  readonly id: number | undefined;
  /** The JSON text of the changed values. */
  readonly text: string;
}

/** The changes in `text`; undefined if it has to be read. */
export function faultlessChanges(
  { faultless: { changed, checked } }: Resource,
  text: string,
): RecordChanges | undefined {
  const match = changed.exec(text);
  if (!match || !areFaultless(checked, match, 2)) return undefined;
  const digits = match[1];
  if (digits === undefined) return { id: undefined, text };
  const end = '{"ID":'.length + digits.length;
  return { id: Number(digits), text: `{${text.slice(text[end] === "," ? end + 1 : end)}` };
}

/** Whether the groups of `match` from number `first` on, where they matched, are texts of `checked`. */
function areFaultless(checked: readonly Text[], match: RegExpExecArray, first: number): boolean {
  for (let index = 0; index < checked.length; index++) {
    const value = match[first + index];
    if (value !== undefined && textFault(checked[index] as Text, value) !== undefined) return false;
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

function textOf({ max, required, pattern }: Text): string {
  const text = `${plain}{${required ? 1 : 0},${max}}`;
  return pattern ? `(${text})` : text;
}
