// Generates the client's TypeScript types from the declarations of the resources.

import { faultCodes, problemTitles } from "../../src/model/errors.ts";
import type { Field, FieldGroup, Fields } from "../../src/model/field.ts";
import type { Resource } from "../../src/model/resource.ts";
import { faultParameterSchemas } from "../../src/reference/problem-schema.ts";
import { sentWebhook, shownDelivery, shownWebhook } from "../../src/resources/webhook.ts";

/** Returns the text of `src/client/record-types.ts`. */
export function toRecordTypes(resources: readonly Resource[]): string {
  const groups = new Map<string, string>();
  const records = resources.map((resource) => typesOf(resource, groups));
  const codes = Object.keys(problemTitles).map((code) => `  | "${code}"`);
  return `// Generated from the declarations of the resources by \`npm run openapi\`. Do not edit.

import type { ReadCollection, WriteCollection } from "./record-collection.ts";

${[...groups.values(), ...records].join("\n")}
${[toInterface(shownWebhook, groups), toNewInterface(sentWebhook, groups), toInterface(shownDelivery, groups)].join("\n")}
/** The last segment of a problem's \`type\`. */
export type ProblemCode =
${codes.join("\n")};

/** The codes of field errors, with their parameters. */
export interface FieldErrorParameters {
${Object.entries(faultCodes).map(parametersMember).join("\n")}
}

/** A collection per resource. */
export interface Collections {
${resources.map(collectionMember).join("\n")}
}

/** The type of the records in the feed of changes, by the name of their resource there. */
export interface FeedRecords {
${resources.map(({ path, element }) => `  readonly ${path}: ${element};`).join("\n")}
}

/** The fields of a new record, by the name of their resource in the feed. */
export interface NewRecords {
${resources
  .filter(({ access }) => access === "written")
  .map(({ path, element }) => `  readonly ${path}: New${element};`)
  .join("\n")}
}

/** The path of each collection below \`/restapi/\`. */
export const paths: Readonly<Record<keyof Collections, keyof FeedRecords>> = {
${resources.map((resource) => `  ${memberName(resource)}: "${resource.path}",`).join("\n")}
};
`;
}

const parameterTypes: Record<string, string> = { integer: "number", string: "string", array: "readonly string[]" };

function parametersMember([code, { parameters }]: [string, (typeof faultCodes)[keyof typeof faultCodes]]): string {
  const members = parameters.map(
    (name) =>
      `readonly ${name}${name === "suggestion" ? "?" : ""}: ${parameterTypes[String(faultParameterSchemas[name].type)]}`,
  );
  return `  readonly "${code}": ${members.length === 0 ? "object" : `{ ${members.join("; ")} }`};`;
}

function typesOf(resource: Resource, groups: Map<string, string>): string {
  const { element, textFields, access } = resource;
  const paths = ["ID", ...textFields.map(({ path }) => path)];
  const record = toInterface(resource, groups);
  const path = `/** A field to sort or filter ${element} records by. */
export type ${element}Path =
${paths.map((path) => `  | "${path}"`).join("\n")};
`;
  if (access !== "written") return `${record}\n${path}`;
  return `${record}
${toNewInterface(resource, groups)}
/** The fields to change. Missing fields keep their values. */
export type ${element}Changes = Partial<New${element}>;

${path}`;
}

function toInterface({ element, description, fields }: Resource, groups: Map<string, string>): string {
  return `/** ${description} */
export interface ${element} {
  /** Assigned by the server and never reused. */
  readonly ID: number;
${members(fields, groups, wholeGroup, () => "")}}
`;
}

function toNewInterface({ element, fields }: Resource, groups: Map<string, string>): string {
  return `/** The fields of a new record. Missing fields are stored empty. */
export interface New${element} {
${members(fields, groups, partialGroup, (field) => (field.kind === "text" && field.required ? "" : "?"))}}
`;
}

const wholeGroup = (name: string) => name;
const partialGroup = (name: string) => `Partial<${name}>`;

/** Returns an interface's members. @param groups receives interfaces for the groups in `fields` */
function members(
  fields: Fields,
  groups: Map<string, string>,
  groupType: (name: string) => string,
  mark: (field: Field) => string,
): string {
  return Object.entries(fields)
    .map(([name, field]) => {
      if (field.kind === "group") groups.set(name, groupInterface(name, field, groups));
      const type = field.kind === "group" ? groupType(name) : "string";
      return `  /** ${comment(field)} */\n  ${name}${mark(field)}: ${type};\n`;
    })
    .join("");
}

function groupInterface(name: string, { description, fields }: FieldGroup, groups: Map<string, string>): string {
  return `/** ${description} */\nexport interface ${name} {\n${members(fields, groups, wholeGroup, () => "")}}\n`;
}

function comment(field: Field): string {
  if (field.kind === "group") return field.description;
  return `${field.description} At most ${field.max} characters.`;
}

function collectionMember(resource: Resource): string {
  const { element, access, plural } = resource;
  const types = access === "written" ? [element, `${element}Path`, `New${element}`] : [element, `${element}Path`];
  const kind = access === "written" ? "WriteCollection" : "ReadCollection";
  return `  /** The ${plural}. */\n  readonly ${memberName(resource)}: ${kind}<${types.join(", ")}>;`;
}

/** `order statuses` becomes `orderStatuses`. */
function memberName({ plural }: Resource): string {
  return plural.replace(/ ([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
