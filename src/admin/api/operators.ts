// Manages operators, who can sign in to the console. Only operators of all sites can use these actions.

import { ProblemError } from "../../model/errors.ts";
import { roleNamed, roles } from "../../model/operator-role.ts";
import {
  createOperator,
  type ListedOperator,
  listOperators,
  removeOperator,
  setOperator,
  toOperatorInfo,
} from "../../operator/operators/operators.ts";
import { createSignInLink, signOutEverywhere } from "../../operator/operators/sessions.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { parseBoolean, parseText, parseTexts, type ReceivedBody } from "../json-body.ts";
import type { OpenImports } from "../open-imports.ts";
import { byId } from "./parameters.ts";
import type {
  LinkResponse,
  NewOperatorBody,
  OperatorBody,
  OperatorInfo,
  OperatorRemovalBody,
  OperatorResponse,
  OperatorsResponse,
  RoleInfo,
} from "./types.ts";

const list = "/operator/operators";
const one = `${list}/{id}`;

export function operatorActions(imports: OpenImports): readonly Action[] {
  return [
    ["GET", list, "read-settings", listAll, "operators of all sites"],
    ["POST", list, "settings", add, "operators of all sites"],
    ["PATCH", one, "settings", change, "operators of all sites"],
    ["DELETE", one, "settings", (call) => remove(call, imports), "operators of all sites"],
    ["POST", `${one}/link`, "settings", link, "operators of all sites"],
    ["POST", `${one}/sign-out`, "settings", (call) => signOut(call, imports), "operators of all sites"],
  ];
}

async function listAll({ engine }: ActionContext): Promise<OperatorsResponse> {
  return { operators: (await listOperators(engine)).map(toOperatorInfo) };
}

async function add(call: ActionContext): Promise<OperatorResponse> {
  const input = await call.input<NewOperatorBody>();
  const [name, sites] = [parseText(input, "name"), sitesIn(input)];
  const added = await createOperator(call.engine, name, sites, call.now(), roleIn(input) ?? "admin");
  return { operator: toOperatorInfo(added), run: call.run };
}

async function change(call: ActionContext): Promise<OperatorResponse> {
  const { Name } = await operatorIn(call);
  const input = await call.input<OperatorBody>();
  const mayBeLast = parseBoolean(input, "isLast") ?? false;
  const role = roleIn(input);
  const sites = input.sites === undefined && role ? undefined : sitesIn(input);
  const changed = await setOperator(call.engine, Name, { sites, role }, call.now(), { mayBeLast });
  return { operator: toOperatorInfo(changed), run: call.run };
}

/** Returns names of sites, or an empty list for null, which means all sites. @throws ProblemError `bad-request` */
function sitesIn(input: ReceivedBody<Pick<OperatorInfo, "sites">>): readonly string[] {
  if (input.sites === null) return [];
  const sites = parseTexts(input, "sites");
  // Reject an empty list from the client, because inside it would mean all sites.
  if (sites && sites.length > 0) return sites;
  throw new ProblemError("bad-request", "`sites` must list at least one site, or be null for all sites");
}

function roleIn(input: ReceivedBody<{ readonly role?: RoleInfo }>): RoleInfo | undefined {
  const role = roleNamed(input.role);
  if (role || input.role === undefined) return role;
  throw new ProblemError("bad-request", `\`role\` must be one of ${roles.join(", ")}`);
}

async function remove(call: ActionContext, imports: OpenImports): Promise<OperatorResponse> {
  const { Name } = await operatorIn(call);
  const mayBeLast = parseBoolean(await call.input<OperatorRemovalBody>(), "isLast") ?? false;
  const removed = await removeOperator(call.engine, Name, call.now(), { mayBeLast });
  await imports.endImportsOf(removed.ID, true);
  return { operator: toOperatorInfo(removed), run: call.run };
}

/** Creates a sign-in link and returns its secret, which isn't stored anywhere. */
async function link(call: ActionContext): Promise<LinkResponse> {
  if (!call.allowsLinks) throw new ProblemError("conflict", "sign-in links are turned off on this server");
  const { Name } = await operatorIn(call);
  return { secret: await createSignInLink(call.engine, Name, call.now()) };
}

async function signOut(call: ActionContext, imports: OpenImports) {
  const { ID, Name } = await operatorIn(call);
  await signOutEverywhere(call.engine, Name, call.now());
  await imports.endImportsOf(ID, true);
  return {};
}

async function operatorIn(call: ActionContext): Promise<ListedOperator> {
  return byId(call, await listOperators(call.engine), "this operator no longer exists");
}
