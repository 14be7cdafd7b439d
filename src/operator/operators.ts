// The operators of the console, and the sites that each may manage (contract section 13).

import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { toDeclaredJson } from "../model/record.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import { readSystemRecords } from "../system/read-system-records.ts";
import {
  commitSystemChanges,
  toCreateIntent,
  toDeleteIntent,
  toInstant,
  toUpdateIntent,
} from "../system/system-changes.ts";
import { managedSiteIds, type OperatorRecord, type SiteRecord, type SystemRecords } from "../system/system-records.ts";
import { liveIdOf, nameOfLiveSite } from "./sites/sandboxes.ts";
import { requireSite } from "./sites/sites.ts";

/** Maximum operators of a database. */
const maxOperators = 1000;

/** An operator as `operator list` shows it. */
export interface ListedOperator extends OperatorRecord {
  /** Names of the live sites that the operator may manage, without removed ones; undefined for all. */
  readonly siteNames: readonly string[] | undefined;
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
): Promise<ListedOperator> {
  let listed: ListedOperator | undefined;
  const [body] = await commitSystemChanges(engine, (system) => {
    const present = system.operators;
    if (present.some(({ Name }) => Name === name))
      throw new ProblemError("conflict", `the operator \`${name}\` exists already`);
    if (present.length >= maxOperators)
      throw new ProblemError("conflict", `there are ${maxOperators} operators already`);
    const values = { Name: name, Sites: toSiteIds(sites, system), Created: toInstant(now) };
    const intent = toCreateIntent(operatorResource, values, now);
    listed = toListed({ ...JSON.parse(intent.valuesJson), ID: 0 }, system);
    return [intent];
  });
  return { ...(listed as ListedOperator), ID: JSON.parse(toDeclaredJson(operatorResource, body as string)).ID };
}

/**
 * Removes an operator and ends the operator's sessions.
 * @param mayBeLast whether to remove even the last operator of all sites. After that, only commands can add sites and operators.
 * @throws ProblemError `not-found`, or `conflict` for the last operator of all sites
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

/** The error for a removal or limit after which no operator of all sites is left. */
export class LastOperatorError extends ProblemError {
  constructor(name: string) {
    super(
      "conflict",
      `\`${name}\` is the last operator of all sites: without one, sites and operators can be managed by commands only`,
    );
  }
}

/** @throws LastOperatorError if this is the only operator of all sites */
function requireOtherOperatorOfAllSites(system: SystemRecords, { ID, Name, siteNames }: ListedOperator): void {
  const others = system.operators.filter((other) => other.ID !== ID);
  if (siteNames || others.some(({ Sites }) => Sites === "")) return;
  throw new LastOperatorError(Name);
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
  const ids = managedSiteIds(operator);
  if (!ids) return { ...operator, siteNames: undefined };
  const sites = system.sites.filter(({ ID }) => ids.has(ID));
  return { ...operator, siteNames: sites.map(({ Name }) => Name) };
}

// Which sites an operator may manage.

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
 * Changes the sites that an operator may manage. Sessions of the operator apply the change from the next request on.
 * @param sites their names; empty for all
 * @param mayBeLast whether to limit even the last operator of all sites. After that, only commands can add sites and operators.
 * @throws ProblemError `not-found` for an unknown operator or site, `conflict` for the last operator of all sites, `invalid-record` for too many
 * sites
 */
export async function setOperatorSites(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
  { mayBeLast = false }: { readonly mayBeLast?: boolean } = {},
): Promise<ListedOperator> {
  let changed: ListedOperator | undefined;
  await commitSystemChanges(engine, (system) => {
    const before = requireOperator(system, name);
    const Sites = toSiteIds(sites, system);
    if (Sites !== "" && !mayBeLast) requireOtherOperatorOfAllSites(system, before);
    changed = toListed({ ...before, Sites }, system);
    return [toUpdateIntent(operatorResource, before.ID, { Sites }, now)];
  });
  return changed as ListedOperator;
}
