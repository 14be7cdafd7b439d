import { type CanonicalPatterns, createCanonicalPatterns } from "./canonical-json.ts";
import type { Field, Fields, TextField } from "./field.ts";

/** The path that resources and the feed are below. */
export const basePath = "/restapi/";

export interface Declaration {
  /** Name in the database, journal and documentation: `order-status`. The reporting view is the same with underscores: `order_status`. */
  readonly name: string;
  /** Path below `/restapi/`, and the name on the command line: `orderstatuses`. Only letters, because webhooks list paths separated by spaces. */
  readonly path: string;
  /** Name of a record's XML element: `OrderStatus`. */
  readonly element: string;
  /** For use in sentences: `order status`, `order statuses`. */
  readonly singular: string;
  readonly plural: string;
  readonly description: string;
  /** `written`: all five operations. `read`: list and look-up. `system`: no endpoint; the records belong to the system site. */
  readonly access: "written" | "read" | "system";
  readonly fields: Fields;
}

export interface TextFieldPath {
  /** Dotted: `Address.Town`. */
  readonly path: string;
  readonly keys: readonly string[];
  readonly field: TextField;
}

export interface Resource extends Declaration {
  /** All text fields in declaration order, including those in groups. */
  readonly textFields: readonly TextFieldPath[];
  readonly shape: Shape;
  readonly canonicalPatterns: CanonicalPatterns;
}

/** A resource with endpoints needs a `Name`, because the console shows and sorts its records by it. */
type NamedIfPublic = { readonly access: "system" } | { readonly fields: { readonly Name: TextField } };

/** @throws Error if the declaration has an unsuitable name or path, or a field `ID` */
export function defineResource(declaration: Declaration & NamedIfPublic): Resource {
  const { name, path, element, fields } = declaration;
  if (!/^[a-z]+(?:-[a-z]+)*$/.test(name)) throw new Error(`${name}: a name has lower-case letters and single hyphens`);
  if (!/^[a-z]+$/.test(path)) throw new Error(`${name}: the path ${path} must have lower-case letters only`);
  if ("ID" in fields) throw new Error(`${name}: ID is part of every record and cannot be declared`);
  const textFields = listTextFields(fields, []);
  const canonicalPatterns = createCanonicalPatterns(
    fields,
    textFields.map(({ field }) => field),
  );
  return { ...declaration, textFields, shape: shapeOf(element, fields), canonicalPatterns };
}

/** Returns the resources that clients have endpoints for. */
export function publicResources(resources: readonly Resource[]): readonly Resource[] {
  return resources.filter((resource) => resource.access !== "system");
}

export function writtenResources(resources: readonly Resource[]): readonly Resource[] {
  return resources.filter(({ access }) => access === "written");
}

/** Returns the plurals as part of a sentence: `brands, order statuses and locations`. */
export function formatResourceList(resources: readonly Resource[]): string {
  return new Intl.ListFormat("en-GB").format(resources.map(({ plural }) => plural));
}

export function findTextField(resource: Resource, path: string): TextFieldPath | undefined {
  return resource.textFields.find((textField) => textField.path === path);
}

/** Returns the dotted paths that clients can use: ID, groups and text fields. */
export function fieldPaths(resource: Resource): string[] {
  const groups = resource.textFields.flatMap(({ keys }) =>
    keys.slice(1).map((_, depth) => keys.slice(0, depth + 1).join(".")),
  );
  return ["ID", ...new Set(groups), ...resource.textFields.map((textField) => textField.path)];
}

function listTextFields(fields: Fields, above: readonly string[]): TextFieldPath[] {
  return Object.entries(fields).flatMap(([name, field]: [string, Field]) => {
    const keys = [...above, name];
    return field.kind === "group" ? listTextFields(field.fields, keys) : [{ path: keys.join("."), keys, field }];
  });
}

/** The members of stored records: their names, order and nesting. Tells records stored by another version of the program apart. */
export interface Shape {
  /** Matches the JSON of a record with exactly these members, in this order, each a text or an object as declared. */
  readonly pattern: RegExp;
  /** Eight hexadecimal digits, the same in every format and every version of the program. */
  readonly digest: string;
}

/** A string in JSON (RFC 8259 section 7). */
const string = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`;

function shapeOf(element: string, fields: Fields): Shape {
  const empty = JSON.stringify(valuesIn(fields, {})).slice(1);
  const source = empty.split('""').map(RegExp.escape).join(string);
  return {
    pattern: new RegExp(`^\\{"ID":[0-9]+${empty === "}" ? "" : ","}${source}$`),
    digest: Bun.SHA256.hash(`${element} ${empty}`, "hex").slice(0, 8),
  };
}

/** Returns the values of `fields` in declaration order. A value that's missing or not a string becomes `""`. */
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
