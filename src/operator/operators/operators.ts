// The operators of the console, with their roles and the sites that each may manage (contract section 13).

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { fromRole, type GivenRole, type Right, type Role, rightsOf, toRole } from "../../model/operator-role.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { operator as operatorResource } from "../../resources/operator.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import {
  commitSystemChanges,
  toCreateIntent,
  toDeleteIntent,
  toInstant,
  toUpdateIntent,
} from "../../system/system-changes.ts";
import {
  managedSiteIds,
  type OperatorRecord,
  type SiteRecord,
  type SystemRecords,
} from "../../system/system-records.ts";
import { liveIdOf, nameOfLiveSite } from "../sites/sandboxes.ts";
import { requireSite } from "../sites/sites.ts";

/** Maximum operators of a database. */
const maxOperators = 1000;

/** An operator as `operator list` shows it. */
export interface ListedOperator extends OperatorRecord {
  /** Names of the live sites that the operator may manage, without removed ones; undefined for all. */
  readonly siteNames: readonly string[] | undefined;
  readonly role: Role;
}

/** The settings of an operator to change. Undefined means no change. */
interface OperatorSettings {
  /** Names of the sites that the operator may manage; empty for all. */
  readonly sites?: readonly string[] | undefined;
  readonly role?: GivenRole | undefined;
}

/** Returns an operator in the form that commands print as JSON, and that the console's API sends. */
export function toOperatorInfo({ ID: id, Name: name, siteNames, role, Created: created }: ListedOperator) {
  return { id, name, sites: siteNames ?? null, role, created };
}

/** Lists all operators. */
export async function listOperators(engine: Engine): Promise<ListedOperator[]> {
  const system = await readSystemRecords(engine);
  return system.operators.map((operator) => toListed(operator, system));
}

/**
 * Creates an operator.
 * @param sites names of the sites that the operator may manage; empty for all
 * @throws ProblemError `invalid-record`, `not-found` for an unknown site, or `conflict` if the name is taken
 */
export async function createOperator(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
  role: GivenRole = "all",
): Promise<ListedOperator> {
  let listed: ListedOperator | undefined;
  const [body] = await commitSystemChanges(engine, (system) => {
    const present = system.operators;
    if (present.some(({ Name }) => Name === name))
      throw new ProblemError("conflict", `the operator \`${name}\` exists already`);
    if (present.length >= maxOperators)
      throw new ProblemError("conflict", `there are ${maxOperators} operators already`);
    const values = { Name: name, Sites: toSiteIds(sites, system), Role: fromRole(role), Created: toInstant(now) };
    const intent = toCreateIntent(operatorResource, values, now);
    listed = toListed({ ...JSON.parse(intent.valuesJson), ID: 0 }, system);
    return [intent];
  });
  return { ...(listed as ListedOperator), ID: JSON.parse(toDeclaredJson(operatorResource, body as string)).ID };
}

/**
 * Removes an operator and ends the operator's sessions.
 * @param mayBeLast whether to remove even the last operator of all sites who has all rights. After that, only commands can add sites and operators.
 * @throws ProblemError `not-found`, or LastOperatorError
 */
export async function removeOperator(
  engine: Engine,
  name: string,
  now: number,
  { mayBeLast = false }: { readonly mayBeLast?: boolean } = {},
): Promise<ListedOperator> {
  let removed: ListedOperator | undefined;
  await commitSystemChanges(engine, (system) => {
    removed = requireOperator(system, name);
    if (!mayBeLast) requireOtherOperatorOfAllSites(system, removed);
    return [toDeleteIntent(operatorResource, removed.ID, now)];
  });
  const { ID } = removed as ListedOperator;
  await engine.deleteCredentials(ID);
  return removed as ListedOperator;
}

/**
 * Returns the value of `Sites` for the sites with these names; empty for none, which means all sites.
 * @throws ProblemError `not-found`, or `conflict` for a sandbox
 */
function toSiteIds(names: readonly string[], { sites }: SystemRecords): string {
  const idOf = (name: string) => {
    const site = requireSite(sites, name);
    if (site.SandboxOf === "") return site.ID;
    const live = nameOfLiveSite(site, sites);
    throw new ProblemError("conflict", `an operator of \`${live}\` may also manage its sandbox: name \`${live}\``);
  };
  return [...new Set(names.map(idOf))].join(" ");
}

/** The error for a removal or limit after which no operator of all sites with all rights is left. */
export class LastOperatorError extends ProblemError {
  constructor(name: string) {
    super(
      "conflict",
      `\`${name}\` is the last operator of all sites with all rights: without one, sites and operators can be managed by commands only`,
    );
  }
}

/** @throws LastOperatorError if this is the only operator of all sites with all rights */
function requireOtherOperatorOfAllSites(system: SystemRecords, operator: ListedOperator): void {
  const others = system.operators.filter(({ ID }) => ID !== operator.ID);
  if (!hasAllRights(operator) || others.some(hasAllRights)) return;
  throw new LastOperatorError(operator.Name);
}

/** Whether an operator may do everything in all sites. */
function hasAllRights({ Sites, Role }: OperatorRecord): boolean {
  return Sites === "" && toRole(Role) === "all";
}

/** Finds the operator with this ID. @param system the records of the system site, up to date */
export function findOperator(
  system: Pick<SystemRecords, "sites" | "operators">,
  id: number,
): ListedOperator | undefined {
  const found = system.operators.find(({ ID }) => ID === id);
  return found && toListed(found, system);
}

/** Returns the operator of this name. @throws ProblemError `not-found` */
export function requireOperator(system: SystemRecords, name: string): ListedOperator {
  const operators = system.operators;
  const found = operators.find(({ Name }) => Name === name);
  if (found) return toListed(found, system);
  const names = operators.slice(0, 10).map(({ Name }) => Name);
  const hint = names.length > 0 ? `known operators: ${names.join(", ")}` : "add one with `storefront operator add`";
  throw new ProblemError("not-found", `unknown operator \`${name}\`: ${hint}`);
}

function toListed(operator: OperatorRecord, system: Pick<SystemRecords, "sites" | "operators">): ListedOperator {
  const [ids, role] = [managedSiteIds(operator), toRole(operator.Role)];
  if (!ids) return { ...operator, role, siteNames: undefined };
  const sites = system.sites.filter(({ ID }) => ids.has(ID));
  return { ...operator, role, siteNames: sites.map(({ Name }) => Name) };
}

// The rights of an operator, and the sites in which they apply.

/** Whether the role of an operator includes a right. */
export function hasRight({ Role }: Pick<OperatorRecord, "Role">, right: Right): boolean {
  return rightsOf(toRole(Role)).includes(right);
}

/** Whether an operator may manage a site. An operator of a live site may also manage its sandbox. */
export function canManage(
  operator: Pick<OperatorRecord, "Sites">,
  site: Pick<SiteRecord, "ID" | "SandboxOf">,
): boolean {
  return managedSiteIds(operator)?.has(liveIdOf(site)) ?? true;
}

/** Returns those of `sites` that an operator may manage. */
export function managedSites(
  operator: Pick<OperatorRecord, "Sites">,
  sites: readonly SiteRecord[],
): readonly SiteRecord[] {
  const ids = managedSiteIds(operator);
  return ids ? sites.filter((site) => ids.has(liveIdOf(site))) : sites;
}

/**
 * Changes the sites that an operator may manage, or the role. Sessions of the operator apply the change from the next request on.
 * @param mayBeLast whether to limit even the last operator of all sites who has all rights. After that, only commands can add sites and operators.
 * @throws ProblemError `not-found` for an unknown operator or site, LastOperatorError, `invalid-record` for too many sites
 */
export async function setOperator(
  engine: Engine,
  name: string,
  { sites, role }: OperatorSettings,
  now: number,
  { mayBeLast = false }: { readonly mayBeLast?: boolean } = {},
): Promise<ListedOperator> {
  let changed: ListedOperator | undefined;
  await commitSystemChanges(engine, (system) => {
    const before = requireOperator(system, name);
    const values = {
      ...(sites && { Sites: toSiteIds(sites, system) }),
      ...(role && { Role: fromRole(role) }),
    };
    changed = toListed({ ...before, ...values }, system);
    if (!hasAllRights(changed) && !mayBeLast) requireOtherOperatorOfAllSites(system, before);
    return [toUpdateIntent(operatorResource, before.ID, values, now)];
  });
  return changed as ListedOperator;
}
