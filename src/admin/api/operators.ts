// The people who may use the console. Operators of all sites manage them.

import { Refusal } from "../../model/errors.ts";
import {
  addOperator,
  type ListedOperator,
  listOperators,
  makeLink,
  removeOperator,
  setOperatorSites,
  signOutEverywhere,
} from "../../operator/operators.ts";
import type { Action, Call } from "../action-routes.ts";
import type { Imports } from "../imports.ts";
import { readBoolean, readText, readTexts } from "../json-body.ts";

const list = "/operator/operators";
const one = `${list}/{id}`;

export function operatorActions(imports: Imports): readonly Action[] {
  return [
    ["GET", list, listAll, "all"],
    ["POST", list, add, "all"],
    ["PATCH", one, change, "all"],
    ["DELETE", one, (call) => remove(call, imports), "all"],
    ["POST", `${one}/link`, link, "all"],
    ["POST", `${one}/sign-out`, (call) => signOut(call, imports), "all"],
  ];
}

async function listAll({ engine }: Call) {
  return { operators: (await listOperators(engine)).map(toShown) };
}

/** The body has `name`, and `sites`: the names of the sites that the operator may manage, or null for all. */
async function add(call: Call) {
  const input = await call.input();
  const added = await addOperator(call.engine, readText(input, "name"), sitesIn(input), call.now());
  return { operator: toShown(added), run: call.run };
}

/** The body has `sites` as for `add`, and may have `isLast`: true to limit the last operator of all sites, too. */
async function change(call: Call) {
  const { Name } = await operatorIn(call);
  const input = await call.input();
  const isLast = readBoolean(input, "isLast") ?? false;
  const changed = await setOperatorSites(call.engine, Name, sitesIn(input), call.now(), { isLast });
  return { operator: toShown(changed), run: call.run };
}

/** Names of sites; none for all. @throws Refusal `bad-request` */
function sitesIn(input: unknown): readonly string[] {
  if (Object(input).sites === null) return [];
  const sites = readTexts(input, "sites");
  // An empty list must not become all sites.
  if (sites && sites.length > 0) return sites;
  throw new Refusal("bad-request", "`sites` must have a name of a site, or be null for all sites");
}

/** The body may have `isLast`: true to remove the last operator of all sites, too. */
async function remove(call: Call, imports: Imports) {
  const { Name } = await operatorIn(call);
  const isLast = readBoolean(await call.input(), "isLast") ?? false;
  const removed = await removeOperator(call.engine, Name, call.now(), { isLast });
  await imports.leave(removed.ID, true);
  return { operator: toShown(removed), run: call.run };
}

/** The secret of a link, which the page makes a link of: it knows its own address best. It is in this response only. */
async function link(call: Call) {
  const { Name } = await operatorIn(call);
  return { secret: await makeLink(call.engine, Name, call.now()) };
}

async function signOut(call: Call, imports: Imports) {
  const { ID, Name } = await operatorIn(call);
  await signOutEverywhere(call.engine, Name);
  await imports.leave(ID, true);
  return {};
}

/** The operator whose ID is in the path. @throws Refusal `not-found` */
async function operatorIn({ engine, parameters }: Call): Promise<ListedOperator> {
  const found = (await listOperators(engine)).find(({ ID }) => String(ID) === parameters.id);
  if (found) return found;
  throw new Refusal("not-found", "there is no such operator: it may have been removed");
}

function toShown({ ID, Name, siteNames, Created }: ListedOperator) {
  return { id: ID, name: Name, sites: siteNames ?? null, created: Created };
}
