// Finds records in all sites that the operator may manage.

import { Slots } from "../../lib/slots.ts";
import { Refusal } from "../../model/errors.ts";
import { findInSites } from "../../operator/find.ts";
import type { Action, Call } from "../actions.ts";
import { readWholeNumber } from "../parameters.ts";

export const findActions: readonly Action[] = [["GET", "/operator/find", find]];

const maxText = 255;
/** Milliseconds after which the search stops and says where to continue. */
const duration = 3000;

/** Searches at once; the others wait. Each reads every record, and takes a turn of some milliseconds between the requests of others. */
const slots = new Slots(2);

/** `?text=Acme&after=12`: the whole value of a field, or an ID, and the ID of the site after which to continue. */
async function find(call: Call) {
  const { engine, query, request } = call;
  const text = (query.get("text") ?? "").trim();
  if (text === "" || text.length > maxText)
    throw new Refusal("bad-request", `\`text\` must have 1 to ${maxText} characters`);
  const after = readWholeNumber(query, "after", { min: 0, max: Number.MAX_SAFE_INTEGER, byDefault: 0 });
  const sites = (await call.sites()).filter(({ ID, Importing }) => ID > after && !Importing);
  const limits = { results: 50, duration, isWanted: () => !request.isAbandoned };
  const search = () =>
    request.isAbandoned ? { found: [], next: undefined } : findInSites(engine, sites, text, limits);
  const { found, next } = await slots.run(search);
  return { found, next: next ?? null };
}
