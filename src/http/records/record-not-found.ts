// The error for a record that does not exist.

import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import type { ResourceRoute } from "../request-context.ts";

export function recordNotFoundError({ resource }: ResourceRoute, id: string | number): ProblemError {
  if (toId(String(id)) === undefined) {
    return new ProblemError("not-found", `invalid ID \`${String(id).slice(0, 40)}\`: an ID is a whole number from 1`);
  }
  return new ProblemError("not-found", `there is no ${resource.singular} with the ID ${id}`);
}
