// Finds records in all sites that the operator may manage, but not in sandboxes, which would show most records twice.

import { parseNumber } from "../../http/common/parameters.ts";
import { ProblemError } from "../../model/errors.ts";
import { findInSites } from "../../operator/sites/find-in-sites.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { LongWork } from "../long-work.ts";
import { maxSearchLength } from "./parameters.ts";
import type { FindResponse } from "./record-types.ts";

export const findActions: readonly Action[] = [["GET", "/operator/find", "read", find]];

/** Milliseconds after which a search reads no further site. Its response then says where to continue. */
const maxSearchMs = 3000;

/** Limits the searches that run at once to two, because each reads every record and blocks other requests for some milliseconds at a time. */
const searches = new LongWork(2);

/**
 * Finds records in all sites of the operator. The query is `?text=Acme&after=12`: `text` is the whole value of a field or an ID, and `after` is
 * the ID of the site after which to continue.
 */
async function find(call: ActionContext): Promise<FindResponse> {
  const { engine, query, request } = call;
  const text = (query.get("text") ?? "").trim();
  if (text === "" || text.length > maxSearchLength)
    throw new ProblemError("bad-request", `\`text\` must have 1 to ${maxSearchLength} characters`);
  const after = parseNumber(query, "after", { min: 0, byDefault: 0 });
  const sites = (await call.sites()).filter(
    ({ ID, Importing, SandboxOf }) => ID > after && !Importing && SandboxOf === "",
  );
  const limits = { results: 50, durationMs: maxSearchMs, isWanted: () => !request.isAbandoned };
  const { found, next } = await searches.run(call, () => findInSites(engine, sites, text, limits));
  return { found, next: next ?? null };
}
