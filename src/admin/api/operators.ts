// The people who may use the console. Operators of all sites manage them.

import { Refusal } from "../../model/errors.ts";
import {
  addOperator,
  type ListedOperator,
  listOperators,
  makeLink,
  removeOperator,
  signOutEverywhere,
} from "../../operator/operators.ts";
import type { Action, Call } from "../actions.ts";
import { readBoolean, readTexts } from "../input.ts";
import { readText } from "../json-body.ts";

const list = "/operator/operators";
const one = `${list}/{id}`;

export const operatorActions: readonly Action[] = [
  ["GET", list, listAll, "all"],
  ["POST", list, add, "all"],
  ["DELETE", one, remove, "all"],
  ["POST", `${one}/link`, link, "all"],
  ["POST", `${one}/sign-out`, signOut, "all"],
];

async function listAll({ engine }: Call) {
  return { operators: (await listOperators(engine)).map(toShown) };
}

/** The body has `name`, and `sites`: the names of the sites that the operator may manage, or null for all. */
async function add(call: Call) {
  const input = await call.input();
  const isForAll = Object(input).sites === null;
  const sites = isForAll ? [] : readTexts(input, "sites");
  // An empty list must not become all sites.
  if (!sites || (!isForAll && sites.length === 0))
    throw new Refusal("bad-request", "`sites` must have a name of a site, or be null for all sites");
  return {
    operator: toShown(await addOperator(call.engine, readText(input, "name"), sites, call.now())),
    run: call.run,
  };
}

/** The body may have `isLast`: true to remove the last operator of all sites, too. */
async function remove(call: Call) {
  const { Name } = await operatorOf(call);
  const isLast = readBoolean(await call.input(), "isLast") ?? false;
  const removed = await removeOperator(call.engine, Name, call.now(), { isLast });
  return { operator: toShown(removed), run: call.run };
}

/** The secret of a link, which the page makes a link of: it knows its own address best. It is in this response only. */
async function link(call: Call) {
  const { Name } = await operatorOf(call);
  return { secret: await makeLink(call.engine, Name, call.now()) };
}

async function signOut(call: Call) {
  const { Name } = await operatorOf(call);
  await signOutEverywhere(call.engine, Name);
  return {};
}

/** The operator whose ID is in the path. @throws Refusal `not-found` */
async function operatorOf({ engine, parameters }: Call): Promise<ListedOperator> {
  const found = (await listOperators(engine)).find(({ ID }) => String(ID) === parameters.id);
  if (found) return found;
  throw new Refusal("not-found", "there is no such operator: it may have been removed");
}

function toShown({ ID, Name, siteNames, Created }: ListedOperator) {
  return { id: ID, name: Name, sites: siteNames ?? null, created: Created };
}
