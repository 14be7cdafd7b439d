// Manages operators, the people who use the console, with their roles and the sites each can manage (contract section 13).

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { fromRole, type GivenRole, type Right, type Role, rightsOf, toRole } from "../../model/operator-role.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { MappedAccess } from "../../model/single-sign-on.ts";
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
import { signInRecordId } from "../journal/events.ts";
import { liveIdOf, nameOfLiveSite } from "../sites/sandboxes.ts";
import { requireSite } from "../sites/sites.ts";

/** In one database. */
const maxOperators = 1000;

/** As `operator list` shows it. */
export interface ListedOperator extends OperatorRecord {
  /** Names of the live sites the operator can manage, without removed ones; undefined for all. */
  readonly siteNames: readonly string[] | undefined;
  readonly role: Role;
  /** When they last signed in (ISO 8601). Undefined if they never did, or it wasn't looked up. */
  readonly signedIn?: string | undefined;
}

/** Undefined means no change. */
interface OperatorSettings {
  /** Names of the sites the operator can manage; empty for all. */
  readonly sites?: readonly string[] | undefined;
  readonly role?: GivenRole | undefined;
}

/** The JSON that commands print and the console's API returns. */
export function toOperatorInfo({
  ID: id,
  Name: name,
  siteNames,
  role,
  Subject,
  Created: created,
  signedIn,
}: ListedOperator) {
  const [issuer = "", subject = ""] = Subject.split(/ (.*)/s, 2);
  const singleSignOn = Subject === "" ? null : { issuer, subject };
  return { id, name, sites: siteNames ?? null, role, singleSignOn, created, signedIn: signedIn ?? null };
}

export async function listOperators(engine: Engine): Promise<ListedOperator[]> {
  const system = await readSystemRecords(engine);
  const signIns = new Map(system.events.map(({ ID, At }) => [ID, At]));
  return system.operators.map((operator) => ({
    ...toListed(operator, system),
    signedIn: signIns.get(signInRecordId(operator.ID)),
  }));
}

/**
 * @param sites names of the sites the operator can manage; empty for all
 * @throws ProblemError `invalid-record`, `not-found` for an unknown site, or `conflict` if the name is taken
 */
export async function createOperator(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
  role: GivenRole = "admin",
): Promise<ListedOperator> {
  let listed: ListedOperator | undefined;
  const [body] = await commitSystemChanges(engine, (system) => {
    const present = system.operators;
    if (present.some(({ Name }) => Name === name))
      throw new ProblemError("conflict", `the operator \`${name}\` already exists`);
    requireRoom(system);
    const values = { Name: name, Sites: toSiteIds(sites, system), Role: fromRole(role), Created: toInstant(now) };
    const intent = toCreateIntent(operatorResource, values, now);
    listed = toListed({ ...JSON.parse(intent.valuesJson), ID: 0 }, system);
    return [intent];
  });
  return { ...(listed as ListedOperator), ID: JSON.parse(toDeclaredJson(operatorResource, body as string)).ID };
}

/** @throws ProblemError `conflict` */
function requireRoom({ operators }: SystemRecords): void {
  if (operators.length < maxOperators) return;
  throw new ProblemError("conflict", `there are already ${maxOperators} operators, the maximum; remove one first`);
}

/** A person as the single sign-on provider knows them. */
interface SignedOnPerson {
  /** The provider's issuer and, after a space, its ID for the person. */
  readonly subject: string;
  /** What to call a new operator. */
  readonly name: string;
  /** Undefined if no mapping gives them access. */
  readonly access: MappedAccess | undefined;
}

/**
 * Adds or updates the operator of a person who's signing in. Someone without access isn't added; if they had it before, their sessions end.
 * @throws ProblemError `conflict` if there are too many operators, `invalid-record` for too many sites
 */
export async function saveSignedOnOperator(
  engine: Engine,
  { subject, name, access }: SignedOnPerson,
  now: number,
): Promise<{ readonly operator: Pick<OperatorRecord, "ID" | "Name"> | undefined; readonly isAllowed: boolean }> {
  let present: OperatorRecord | undefined;
  let isAllowed = false;
  const [body] = await commitSystemChanges(engine, (system) => {
    present = system.operators.find(({ Subject }) => Subject === subject);
    const Sites = access && toMappedSiteIds(access, system);
    isAllowed = Sites !== undefined;
    if (!access || Sites === undefined) return [];
    const values = { Sites, Role: fromRole(access.role) };
    if (present?.Sites === values.Sites && present.Role === values.Role) return [];
    if (present) return [toUpdateIntent(operatorResource, present.ID, values, now)];
    requireRoom(system);
    const added = { Name: toFreeName(name, system), ...values, Subject: subject, Created: toInstant(now) };
    return [toCreateIntent(operatorResource, added, now)];
  });
  const operator = body === undefined ? present : JSON.parse(toDeclaredJson(operatorResource, body));
  if (!isAllowed && operator) await engine.deleteCredentials(operator.ID);
  return { operator, isAllowed };
}

/** Leaves out sites that don't exist. Undefined if none is left, because no site at all would mean all. */
function toMappedSiteIds({ sites: names }: MappedAccess, { sites }: SystemRecords): string | undefined {
  if (names === undefined) return "";
  const live = sites.filter(({ Name, SandboxOf }) => SandboxOf === "" && names.includes(Name));
  return live.length > 0 ? live.map(({ ID }) => ID).join(" ") : undefined;
}

/** Leaves room for a number after the name. */
const maxGivenNameChars = 59;

/** Returns a name that no operator has, however it's capitalized, so that nobody can pass for somebody else. */
function toFreeName(given: string, { operators }: SystemRecords): string {
  const plain = given
    .normalize("NFKC")
    .replaceAll(/[\p{C}\p{Z}\p{DI}]+/gu, " ")
    .trim();
  const name = [...plain].slice(0, maxGivenNameChars).join("").trim() || "operator";
  const taken = new Set(operators.map(({ Name }) => Name.normalize("NFKC").toLowerCase()));
  const numbered = (number: number) => (number === 1 ? name : `${name} ${number}`);
  let number = 1;
  while (taken.has(numbered(number).toLowerCase())) number++;
  return numbered(number);
}

/**
 * Removes an operator, which ends their sessions, because a session needs its operator. The sessions stay stored until they expire, so that an open page
 * can find out why (sessions.ts). IDs are never used again, and a restore deletes all sessions.
 * @param mayBeLast whether to remove even the last admin of all sites. Sites and operators can then only be added by commands.
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
    if (!mayBeLast) requireOtherAdminOfAllSites(system, removed);
    return [toDeleteIntent(operatorResource, removed.ID, now)];
  });
  return removed as ListedOperator;
}

/**
 * Returns the value of `Sites`. No names means all sites.
 * @throws ProblemError `not-found`, or `conflict` for a sandbox
 */
function toSiteIds(names: readonly string[], { sites }: SystemRecords): string {
  const idOf = (name: string) => {
    const site = requireSite(sites, name);
    if (site.SandboxOf === "") return site.ID;
    const live = nameOfLiveSite(site, sites);
    throw new ProblemError(
      "conflict",
      `operators of \`${live}\` can manage its sandbox \`${name}\` too, so use \`${live}\``,
    );
  };
  return [...new Set(names.map(idOf))].join(" ");
}

/** Thrown when no admin of all sites would be left. */
export class LastOperatorError extends ProblemError {
  constructor(name: string) {
    super(
      "conflict",
      `\`${name}\` is the last admin of all sites; without one, only commands can manage sites and operators`,
    );
  }
}

/** @throws LastOperatorError */
function requireOtherAdminOfAllSites(system: SystemRecords, operator: ListedOperator): void {
  const others = system.operators.filter(({ ID }) => ID !== operator.ID);
  if (!isAdminOfAllSites(operator) || others.some(isAdminOfAllSites)) return;
  throw new LastOperatorError(operator.Name);
}

function isAdminOfAllSites({ Sites, Role }: OperatorRecord): boolean {
  return Sites === "" && toRole(Role) === "admin";
}

/** @param system must be up to date */
export function findOperator(
  system: Pick<SystemRecords, "sites" | "operators">,
  id: number,
): ListedOperator | undefined {
  const found = system.operators.find(({ ID }) => ID === id);
  return found && toListed(found, system);
}

/** @throws ProblemError `not-found` */
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

export function hasRight({ Role }: Pick<OperatorRecord, "Role">, right: Right): boolean {
  return rightsOf(toRole(Role)).includes(right);
}

/** Whoever can manage a live site can also manage its sandbox. */
export function canManage(
  operator: Pick<OperatorRecord, "Sites">,
  site: Pick<SiteRecord, "ID" | "SandboxOf">,
): boolean {
  return managedSiteIds(operator)?.has(liveIdOf(site)) ?? true;
}

/** Those of `sites` the operator can manage. */
export function managedSites(
  operator: Pick<OperatorRecord, "Sites">,
  sites: readonly SiteRecord[],
): readonly SiteRecord[] {
  const ids = managedSiteIds(operator);
  return ids ? sites.filter((site) => ids.has(liveIdOf(site))) : sites;
}

/**
 * Changes the sites an operator can manage, or their role. Takes effect with the next request, even in open sessions.
 * @param mayBeLast whether to limit even the last admin of all sites. Sites and operators can then only be added by commands.
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
    if (before.Subject !== "")
      throw new ProblemError(
        "conflict",
        `\`${name}\` is managed by single sign-on, so change their groups at the provider, or the server's --oidc-role`,
      );
    const values = {
      ...(sites && { Sites: toSiteIds(sites, system) }),
      ...(role && { Role: fromRole(role) }),
    };
    changed = toListed({ ...before, ...values }, system);
    if (!isAdminOfAllSites(changed) && !mayBeLast) requireOtherAdminOfAllSites(system, before);
    return [toUpdateIntent(operatorResource, before.ID, values, now)];
  });
  return changed as ListedOperator;
}
