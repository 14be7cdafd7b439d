// The parameters and request headers (contract sections 2, 3, 6 and 7).

import { maxFilters, maxIds, maxPageSize, maxSortFields } from "../../model/list-bounds.ts";
import { fieldPaths, type Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";
import { ref } from "./interface.ts";

const idSchema: Schema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

const override: Schema = {
  name: "X-HTTP-Method-Override",
  in: "header",
  description: "The method that this POST stands for, behind a proxy that lets only GET and POST through.",
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
    description: "ID of the record, where the body does not name it.",
    schema: idSchema,
  },
  limit: {
    name: "limit",
    in: "query",
    description: "Most records to return. Without it, all of them.",
    schema: { type: "integer", minimum: 1, maximum: maxPageSize },
  },
  offset: {
    name: "offset",
    in: "query",
    description: "How many records to pass over.",
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of what you have: the answer is 304 without a body when it is still that.",
    schema: { type: "string" },
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    description:
      "The `ETag` of the record that you changed: the answer is 412 when it has changed since. Send it as it came, with its quotes.",
    schema: { type: "string" },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description:
      "A name for this request, new for each: sent again with the same name within 24 hours, it gives the first response again and changes nothing.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
  },
  MethodOverride: { ...override, required: true },
  "X-HTTP-Method-Override": override,
};

/** `components.parameters`: the shared ones, and for each resource what names its fields. */
export function parameterComponents(resources: readonly Resource[]): Record<string, Schema> {
  const own = resources.flatMap((resource) => Object.entries(fieldParameters(resource)));
  return { ...shared, ...Object.fromEntries(own) };
}

/** The value of a filter: a text for exactly that, `{ contains }`, or for the ID `{ in }`. */
export const filterValue: Schema = {
  title: "Filter",
  description:
    "A text that the field must equal, as in `filter[Name]=Acme`, or contain without regard to case, as in `filter[Name][contains]=acm`; for the ID also a list, as in `filter[ID][in]=3,5,8`.",
  anyOf: [
    { type: "string" },
    filterObject("contains", { type: "string", description: "Without regard to case." }),
    filterObject("in", {
      type: "string",
      pattern: "^[1-9][0-9]*(?:,[1-9][0-9]*)*$",
      description: `Only for the ID: at most ${maxIds} IDs, separated by commas.`,
    }),
  ],
};

function filterObject(operator: string, value: Schema): Schema {
  return { type: "object", required: [operator], properties: { [operator]: value }, additionalProperties: false };
}

/** What each kind of operation takes, as references. */
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
    [`${element}Sort`]: {
      name: "sort",
      in: "query",
      description: `Fields to sort the ${plural} by, \`-\` before one for descending; at most ${maxSortFields}. Ties are in ID order. Separated by commas, or the parameter repeated.`,
      style: "form",
      explode: false,
      schema: {
        type: "array",
        minItems: 1,
        maxItems: maxSortFields,
        items: { type: "string", enum: leaves.flatMap((path) => [path, `-${path}`]) },
      },
      example: ["Name", "-ID"],
    },
    [`${element}Filter`]: {
      name: "filter",
      in: "query",
      description: `Which ${plural} to return: \`filter[Name]=Acme\` exactly, \`filter[Name][contains]=acm\` without regard to case, \`filter[ID][in]=3,5,8\` any of these. Several must all hold; at most ${maxFilters}.`,
      style: "deepObject",
      explode: true,
      schema: {
        type: "object",
        maxProperties: maxFilters,
        propertyNames: { enum: leaves },
        additionalProperties: ref("schemas", "FilterValue"),
        "x-additionalPropertiesName": "field",
      },
    },
    [`${element}Fields`]: {
      name: "fields",
      in: "query",
      description: `The fields to return of each of the ${plural}; the ID always comes. Separated by commas, or the parameter repeated.`,
      style: "form",
      explode: false,
      schema: { type: "array", minItems: 1, items: { type: "string", enum: fieldPaths(resource) } },
      example: ["Name"],
    },
  };
}
