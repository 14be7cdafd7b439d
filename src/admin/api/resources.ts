// The declarations of the resources. The console builds its lists and forms from them.

import { encodings } from "../../formats/text-encoding.ts";
import { publicResources } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import type { Action } from "../action-routes.ts";
import { maxSearchLength } from "./parameters.ts";
import type { ResourcesResponse } from "./types.ts";

export const resourceActions: readonly Action[] = [
  [
    "GET",
    "/operator/resources",
    "read",
    async (): Promise<ResourcesResponse> => ({ resources: declared, maxSearchLength, encodings }),
  ],
];

const declared = publicResources(allResources).map(({ name, path, singular, plural, textFields }) => ({
  name,
  path,
  singular,
  plural,
  fields: textFields.map(({ path: field, field: { max, required, description, example, pattern } }) => ({
    path: field,
    max,
    required,
    description,
    example,
    pattern: pattern ?? null,
  })),
}));
