// The types of the client for TypeScript, made from the declarations.

import { refusals } from "../src/model/errors.ts";
import type { Field, Fields } from "../src/model/field.ts";
import type { Resource } from "../src/model/resource.ts";

/** The text of `src/client/records.ts`. */
export function clientRecords(resources: readonly Resource[]): string {
  const groups = new Map<string, string>();
  const records = resources.map((resource) => recordTypes(resource, groups));
  const codes = Object.keys(refusals).map((code) => `  | "${code}"`);
  return `// Made from the declarations of the resources by \`npm run openapi\`; not to be edited.

import type { ReadCollection, WriteCollection } from "./collection.ts";

${[...groups.values(), ...records].join("\n")}
/** The last part of a problem's \`type\`. */
export type ProblemCode =
${codes.join("\n")};

/** The records of a website. */
export interface Collections {
${resources.map(collectionType).join("\n")}
}

/** Each collection's path below \`/restapi/\`. */
export const paths: Readonly<Record<keyof Collections, string>> = {
${resources.map((resource) => `  ${memberName(resource)}: "${resource.path}",`).join("\n")}
};
`;
}

function recordTypes({ element, description, fields, leaves, access }: Resource, groups: Map<string, string>): string {
  const paths = ["ID", ...leaves.map(({ path }) => path)];
  const whole = `/** ${description} */
export interface ${element} {
  /** Given by the server, and never used twice. */
  readonly ID: number;
${members(
  fields,
  groups,
  (name) => name,
  () => "",
)}}
`;
  const paths_ = `/** The fields that ${element} can be sorted and filtered by. */
export type ${element}Path =
${paths.map((path) => `  | "${path}"`).join("\n")};
`;
  if (access !== "written") return `${whole}\n${paths_}`;
  const partial = (name: string) => `Partial<${name}>`;
  return `${whole}
/** What creates it. */
export interface New${element} {
${members(fields, groups, partial, (field) => (field.kind === "text" && field.required ? "" : "?"))}}

/** What changes of it; fields that are left out keep their value. */
export type ${element}Changes = Partial<New${element}>;

${paths_}`;
}

function members(
  fields: Fields,
  groups: Map<string, string>,
  groupType: (name: string) => string,
  mark: (field: Field) => string,
): string {
  return Object.entries(fields)
    .map(([name, field]) => {
      if (field.kind === "group") groups.set(name, groupInterface(name, field.description, field.fields));
      const type = field.kind === "group" ? groupType(name) : "string";
      return `  /** ${note(field)} */\n  ${name}${mark(field)}: ${type};\n`;
    })
    .join("");
}

function groupInterface(name: string, description: string, fields: Fields): string {
  return `/** ${description} */\nexport interface ${name} {\n${members(
    fields,
    new Map(),
    (inner) => inner,
    () => "",
  )}}\n`;
}

function note(field: Field): string {
  if (field.kind === "group") return field.description;
  return `${field.description} At most ${field.max} characters.`;
}

function collectionType(resource: Resource): string {
  const { element, access, plural } = resource;
  const types = access === "written" ? [element, `${element}Path`, `New${element}`] : [element, `${element}Path`];
  const kind = access === "written" ? "WriteCollection" : "ReadCollection";
  return `  /** The ${plural}. */\n  readonly ${memberName(resource)}: ${kind}<${types.join(", ")}>;`;
}

/** `order statuses` becomes `orderStatuses`. */
function memberName({ plural }: Resource): string {
  return plural.replace(/ ([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
