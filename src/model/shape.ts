// What the stored records of a resource look like, so that those which do not look so are told at once.

import type { Field, Fields } from "./field.ts";

/** The members of a record: their names, order and nesting. */
export interface Shape {
  /** Matches the JSON text of a record that has these members and no others, each of the right kind. */
  readonly pattern: RegExp;
  /** Eight hexadecimal digits, the same in every program in which a record looks the same, whatever the format. */
  readonly digest: string;
}

/** A string in JSON (RFC 8259 section 7). */
const string = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`;

/** The shape of the records that have `fields`, and in XML the name `element`. */
export function shapeOf(element: string, fields: Fields): Shape {
  const empty = JSON.stringify(valuesIn(fields, {})).slice(1);
  const source = empty.split('""').map(RegExp.escape).join(string);
  return {
    pattern: new RegExp(`^\\{"ID":[0-9]+${empty === "}" ? "" : ","}${source}$`),
    digest: Bun.SHA256.hash(`${element} ${empty}`, "hex").slice(0, 8),
  };
}

/** The values that `stored` has for `fields`, in their order; `""` where it has no text. */
export function valuesIn(fields: Fields, stored: unknown): object {
  const given = (typeof stored === "object" && stored !== null ? stored : {}) as Record<string, unknown>;
  const values: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name] as Field;
    const value = given[name];
    if (field.kind === "group") values[name] = valuesIn(field.fields, value);
    else values[name] = typeof value === "string" ? value : "";
  }
  return values;
}
