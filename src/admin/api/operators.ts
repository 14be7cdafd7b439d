// Manages the operators: the people who may use the console. Only operators of all sites may use these actions.

import { ProblemError } from "../../model/errors.ts";
import {
  createOperator,
  type ListedOperator,
  listOperators,
  removeOperator,
  setOperatorSites,
} from "../../operator/operators.ts";
import { createSignInLink, signOutEverywhere } from "../../operator/sessions.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { parseBoolean, parseText, parseTexts, type ReceivedBody } from "../json-body.ts";
import type { OpenImports } from "../open-imports.ts";
import { idOf } from "./parameters.ts";
import type {
  LinkResponse,
  NewOperatorBody,
  OperatorInfo,
  OperatorRemovalBody,
  OperatorResponse,
  OperatorSitesBody,
  OperatorsResponse,
} from "./types.ts";

const list = "/operator/operators";
const one = `${list}/{id}`;

export function operatorActions(imports: OpenImports): readonly Action[] {
  return [
    ["GET", list, listAll, "operators of all sites"],
    ["POST", list, add, "operators of all sites"],
    ["PATCH", one, change, "operators of all sites"],
    ["DELETE", one, (call) => remove(call, imports), "operators of all sites"],
    ["POST", `${one}/link`, link, "operators of all sites"],
    ["POST", `${one}/sign-out`, (call) => signOut(call, imports), "operators of all sites"],
  ];
}

async function listAll({ engine }: ActionContext): Promise<OperatorsResponse> {
  return { operators: (await listOperators(engine)).map(toOperatorInfo) };
}

async function add(call: ActionContext): Promise<OperatorResponse> {
  const input = await call.input<NewOperatorBody>();
  const added = await createOperator(call.engine, parseText(input, "name"), sitesIn(input), call.now());
  return { operator: toOperatorInfo(added), run: call.run };
}

/** Changes the sites of an operator. */
async function change(call: ActionContext): Promise<OperatorResponse> {
  const { Name } = await operatorIn(call);
  const input = await call.input<OperatorSitesBody>();
  const mayBeLast = parseBoolean(input, "isLast") ?? false;
  const changed = await setOperatorSites(call.engine, Name, sitesIn(input), call.now(), { mayBeLast });
  return { operator: toOperatorInfo(changed), run: call.run };
}

/** Returns the names of sites; an empty list for null, which means all sites. @throws ProblemError `bad-request` */
function sitesIn(input: ReceivedBody<Pick<OperatorInfo, "sites">>): readonly string[] {
  if (input.sites === null) return [];
  const sites = parseTexts(input, "sites");
  // Reject an empty list. Otherwise it would mean all sites.
  if (sites && sites.length > 0) return sites;
  throw new ProblemError("bad-request", "`sites` must have a name of a site, or be null for all sites");
}

async function remove(call: ActionContext, imports: OpenImports): Promise<OperatorResponse> {
  const { Name } = await operatorIn(call);
  const mayBeLast = parseBoolean(await call.input<OperatorRemovalBody>(), "isLast") ?? false;
  const removed = await removeOperator(call.engine, Name, call.now(), { mayBeLast });
  await imports.endImportsOf(removed.ID, true);
  return { operator: toOperatorInfo(removed), run: call.run };
}

/** Creates a sign-in link and returns its secret, which is stored nowhere else. */
async function link(call: ActionContext): Promise<LinkResponse> {
  const { Name } = await operatorIn(call);
  return { secret: await createSignInLink(call.engine, Name, call.now()) };
}

async function signOut(call: ActionContext, imports: OpenImports) {
  const { ID, Name } = await operatorIn(call);
  await signOutEverywhere(call.engine, Name);
  await imports.endImportsOf(ID, true);
  return {};
}

/** Returns the operator that the path names by ID. @throws ProblemError `not-found` */
async function operatorIn(call: ActionContext): Promise<ListedOperator> {
  const id = idOf(call);
  const found = (await listOperators(call.engine)).find(({ ID }) => ID === id);
  if (found) return found;
  throw new ProblemError("not-found", "there is no such operator: it may have been removed");
}

function toOperatorInfo({ ID, Name, siteNames, Created }: ListedOperator): OperatorInfo {
  return { id: ID, name: Name, sites: siteNames ?? null, created: Created };
}
