// What the console makes lists and forms of: the declarations of the resources.

import { servedOf } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import type { Action } from "../actions.ts";

export const resourceActions: readonly Action[] = [
  ["GET", "/operator/resources", async () => ({ resources: declared })],
];

const declared = servedOf(allResources).map(({ name, path, singular, plural, leaves }) => ({
  name,
  path,
  singular,
  plural,
  fields: leaves.map(({ path: field, field: { max, required, description, example, pattern } }) => ({
    path: field,
    max,
    required,
    description,
    example,
    pattern: pattern ?? null,
  })),
}));
