// The members of the stored records of a resource. Records that another version stored are recognized by their shape.

import type { Field, Fields } from "./field.ts";

/** The members of a record: their names, order and nesting. */
export interface Shape {
  /** Matches the JSON text of a record that has these members and no others, each of the right kind. */
  readonly pattern: RegExp;
  /** Eight hexadecimal digits that identify the shape, for every format and version of the program. */
  readonly digest: string;
}

/** A string in JSON (RFC 8259 section 7). */
const string = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`;

/** The shape of records with these fields, whose XML element is `element`. */
export function shapeOf(element: string, fields: Fields): Shape {
  const empty = JSON.stringify(valuesIn(fields, {})).slice(1);
  const source = empty.split('""').map(RegExp.escape).join(string);
  return {
    pattern: new RegExp(`^\\{"ID":[0-9]+${empty === "}" ? "" : ","}${source}$`),
    digest: Bun.SHA256.hash(`${element} ${empty}`, "hex").slice(0, 8),
  };
}

/** The values of `fields` in `stored`, in the order of the declaration; `""` where there is no string. */
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
