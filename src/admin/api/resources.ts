// The declarations of the resources. The console builds its lists and forms from them. And the resource that a request names.

import { ProblemError } from "../../model/errors.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import type { ResourcesResponse } from "./types.ts";

/** Returns the resource that the path of the request names. @throws ProblemError `not-found` */
export function resourceOf({ parameters }: ActionContext): Resource {
  return resourceNamed(parameters.resource ?? "");
}

/** Returns the public resource with this path. @throws ProblemError `not-found` */
export function resourceNamed(name: string): Resource {
  const found = publicResources(allResources).find(({ path }) => path === name);
  if (found) return found;
  throw new ProblemError("not-found", `there is no resource \`${name.slice(0, 100)}\``);
}

/** Maximum length of a search in a list, and of a text to find in all sites, in characters. */
export const maxSearchLength = 255;

export const resourceActions: readonly Action[] = [
  ["GET", "/operator/resources", async (): Promise<ResourcesResponse> => ({ resources: declared, maxSearchLength })],
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
