// The parameters: path, query and request header fields (contract sections 2, 3, 6 and 7).

import { maxFilters, maxIds, maxPageSize, maxSortFields } from "../../model/list-bounds.ts";
import { fieldPaths, type Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";
import { ref } from "./components.ts";

const idSchema: Schema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

const override: Schema = {
  name: "X-HTTP-Method-Override",
  in: "header",
  description: "The method to use in place of POST, for clients behind a proxy that lets only GET and POST through.",
  schema: { type: "string", enum: ["PUT", "PATCH", "DELETE"] },
};

const shared: Record<string, Schema> = {
  id: {
    name: "id",
    in: "path",
    required: true,
    description: "ID of the record.",
    schema: idSchema,
    example: 1,
  },
  ID: {
    name: "ID",
    in: "query",
    description: "ID of the record, if the body does not contain it.",
    schema: idSchema,
  },
  limit: {
    name: "limit",
    in: "query",
    description: "Maximum number of records. Default: all.",
    schema: { type: "integer", minimum: 1, maximum: maxPageSize },
  },
  offset: {
    name: "offset",
    in: "query",
    description: "Number of records to skip.",
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of what you already have. If it is still current, the response is 304 without a body.",
    schema: { type: "string" },
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    description:
      "The `ETag` of the record that you read, with its quotes. If the record has changed since then, the response is 412.",
    schema: { type: "string" },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description:
      "A unique key for this request. If you repeat the request with the same key within 24 hours, you get the first response again and nothing changes.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
  },
  MethodOverride: { ...override, required: true },
  "X-HTTP-Method-Override": override,
};

/** `components.parameters`: the shared ones, and those of each resource with the names of its fields. */
export function parameterComponents(resources: readonly Resource[]): Record<string, Schema> {
  const own = resources.flatMap((resource) => Object.entries(fieldParameters(resource)));
  return { ...shared, ...Object.fromEntries(own) };
}

/** The value of a filter: a text for an exact match, `{ contains }`, or for the ID `{ in }`. */
export const filterValue: Schema = {
  title: "Filter",
  description:
    "An exact value, as in `filter[Name]=Acme`, a text that the field contains (ignoring case), as in `filter[Name][contains]=acm`, or a list of IDs, as in `filter[ID][in]=3,5,8`.",
  anyOf: [
    { type: "string" },
    filterObject("contains", { type: "string", description: "Ignores case." }),
    filterObject("in", {
      type: "string",
      pattern: "^[1-9][0-9]*(?:,[1-9][0-9]*)*$",
      description: `For the ID only: at most ${maxIds} IDs, separated by commas.`,
    }),
  ],
};

function filterObject(operator: string, value: Schema): Schema {
  return { type: "object", required: [operator], properties: { [operator]: value }, additionalProperties: false };
}

/** References to the parameters of each kind of operation. */
export const parameterRefs = {
  list: ({ element }: Resource) =>
    ["limit", "offset", `${element}Sort`, `${element}Filter`, `${element}Fields`, "If-None-Match"].map(toRef),
  lookUp: ["id", "If-None-Match"].map(toRef),
  override: ["id", "MethodOverride", "If-Match", "Idempotency-Key"].map(toRef),
  create: ["Idempotency-Key", "X-HTTP-Method-Override"].map(toRef),
  changeByPath: ["id", "If-Match", "Idempotency-Key"].map(toRef),
  changeByBody: ["ID", "If-Match", "Idempotency-Key"].map(toRef),
  preflightByPath: ["id"].map(toRef),
};

function toRef(name: string): Schema {
  return ref("parameters", name);
}

function fieldParameters(resource: Resource): Record<string, Schema> {
  const { element, plural } = resource;
  const leaves = ["ID", ...resource.leaves.map(({ path }) => path)];
  return {
    [`${element}Sort`]: sortParameter(plural, leaves),
    [`${element}Filter`]: filterParameter(plural, leaves),
    [`${element}Fields`]: fieldsParameter(plural, fieldPaths(resource)),
  };
}

function sortParameter(plural: string, leaves: readonly string[]): Schema {
  return {
    name: "sort",
    in: "query",
    description: `Fields to sort the ${plural} by, at most ${maxSortFields}. \`-\` before a field means descending. Ties are in ID order. ${listSyntax}`,
    style: "form",
    explode: false,
    schema: {
      type: "array",
      minItems: 1,
      maxItems: maxSortFields,
      items: { type: "string", enum: leaves.flatMap((path) => [path, `-${path}`]) },
    },
    example: ["Name", "-ID"],
  };
}

function filterParameter(plural: string, leaves: readonly string[]): Schema {
  return {
    name: "filter",
    in: "query",
    description: `Which ${plural} to return: \`filter[Name]=Acme\` for an exact match, \`filter[Name][contains]=acm\` for a part (ignoring case), \`filter[ID][in]=3,5,8\` for any of these IDs. A record must match all filters; at most ${maxFilters}.`,
    style: "deepObject",
    explode: true,
    schema: {
      type: "object",
      maxProperties: maxFilters,
      propertyNames: { enum: leaves },
      additionalProperties: ref("schemas", "FilterValue"),
      "x-additionalPropertiesName": "field",
    },
    example: { Name: { contains: "acm" } },
  };
}

function fieldsParameter(plural: string, paths: readonly string[]): Schema {
  return {
    name: "fields",
    in: "query",
    description: `Fields of the ${plural} to return, besides the ID. ${listSyntax}`,
    style: "form",
    explode: false,
    schema: { type: "array", minItems: 1, items: { type: "string", enum: paths } },
    example: ["Name"],
  };
}

const listSyntax = "Separate the fields by commas, or repeat the parameter.";
