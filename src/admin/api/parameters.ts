// Parameters that several actions have: a resource, an ID, a time, or a search.

import { parseSingle } from "../../http/common/parameters.ts";
import { parseTime } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { toId } from "../../model/record.ts";
import { publicResources, type Resource } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import type { ActionContext } from "../action-routes.ts";

export function resourceOf({ parameters }: ActionContext): Resource {
  return resourceNamed(parameters.resource ?? "");
}

export function resourceNamed(name: string): Resource {
  const found = publicResources(allResources).find(({ path }) => path === name);
  if (found) return found;
  throw new ProblemError("not-found", `there is no resource \`${name.slice(0, 100)}\``);
}

export function idOf({ parameters }: ActionContext): number {
  const id = toId(parameters.id ?? "");
  if (id !== undefined) return id;
  throw new ProblemError("not-found", `invalid ID \`${parameters.id?.slice(0, 40)}\`: an ID is a whole number from 1`);
}

/** Returns the element of `found` whose ID is in the path. @throws ProblemError `not-found` with `detail` */
export function byId<T extends { readonly ID: number }>(call: ActionContext, found: readonly T[], detail: string): T {
  const id = idOf(call);
  const one = found.find(({ ID }) => ID === id);
  if (one) return one;
  throw new ProblemError("not-found", detail);
}

/** Returns a query parameter's time in milliseconds since 1970, or undefined if it's absent. @throws ProblemError `bad-request` */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = parseSingle(query, name);
  if (text === undefined) return undefined;
  const at = parseTime(text);
  if (Number.isSafeInteger(at)) return at;
  throw new ProblemError("bad-request", `\`${name}\` must be a time such as 2026-01-31T12:00:00Z`);
}

/** Maximum length of a search, in characters. */
export const maxSearchLength = 255;

export function checkSearch(search: string): string {
  if (search.length <= maxSearchLength) return search;
  throw new ProblemError("bad-request", `\`search\` must have at most ${maxSearchLength} characters`);
}
