// The operators of the console, the sites that each may manage, and how they sign in (contract section 13).

import { randomText } from "../lib/text.ts";
import type { Credential, Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { toDeclaredJson } from "../model/record.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import {
  commitSystemChanges,
  readSystemRecords,
  toCreateIntent,
  toDeleteIntent,
  toInstant,
  toUpdateIntent,
} from "../system/system-changes.ts";
import { managedSiteIds, type OperatorRecord, type SiteRecord, type SystemRecords } from "../system/system-records.ts";
import { requireSite } from "./sites.ts";

/** Milliseconds in which a link can be used. */
const linkLifetimeMs = 10 * 60_000;
/** Milliseconds after which a session ends. */
export const sessionLifetimeMs = 12 * 60 * 60_000;
/** Letters and digits of a secret: 190 random bits. */
const secretLength = 32;
/** Maximum operators of a database. */
const maxOperators = 1000;

/** An operator as `operator list` shows it. */
export interface ListedOperator extends OperatorRecord {
  /** Names of the sites that the operator may manage, without removed ones; undefined for all. */
  readonly siteNames: readonly string[] | undefined;
}

/** The session of a browser. */
interface SignedIn {
  readonly secret: string;
  readonly operator: ListedOperator;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Lists all operators. */
export async function listOperators(engine: Engine): Promise<ListedOperator[]> {
  const system = await readSystemRecords(engine);
  return system.operators.map((operator) => toListed(operator, system));
}

/**
 * Adds an operator.
 * @param sites names of the sites that the operator may manage; empty for all
 * @throws ProblemError `invalid-record`, `not-found` for an unknown site, or `conflict` if the name is taken
 */
export async function addOperator(
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
 * @param options.isLast true to remove even the last operator of all sites. After that, only commands can add sites and operators.
 * @throws ProblemError `not-found`, or `conflict` for the last operator of all sites
 */
export async function removeOperator(
  engine: Engine,
  name: string,
  now: number,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Promise<ListedOperator> {
  let removed: ListedOperator | undefined;
  await commitSystemChanges(engine, (system) => {
    removed = requireOperator(system, name);
    if (!isLast) requireOtherGlobalOperator(system, removed);
    return [toDeleteIntent(operatorResource, removed.ID, now)];
  });
  const { ID } = removed as ListedOperator;
  await engine.deleteCredentials(ID);
  return removed as ListedOperator;
}

/** Returns the value of `Sites` for the sites with these names; empty for none, which means all sites. @throws ProblemError `not-found` */
function toSiteIds(names: readonly string[], system: SystemRecords): string {
  const known = system.sites;
  return [...new Set(names.map((name) => requireSite(known, name).ID))].join(" ");
}

/** @throws ProblemError `conflict` if this is the only operator of all sites */
function requireOtherGlobalOperator(system: SystemRecords, { ID, Name, siteNames }: ListedOperator): void {
  const others = system.operators.filter((other) => other.ID !== ID);
  if (siteNames || others.some(({ Sites }) => Sites === "")) return;
  throw new ProblemError(
    "conflict",
    `\`${Name}\` is the last operator of all sites: without one, sites and operators can be managed by commands only`,
  );
}

/** Creates the secret of a link, which signs in once within `linkLifetimeMs`. @throws ProblemError `not-found` */
export async function createSignInLink(engine: Engine, name: string, now: number): Promise<string> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  const secret = randomText(secretLength);
  await engine.saveCredential(toCredential(secret, "link", ID, now + linkLifetimeMs), now);
  return secret;
}

/** Ends the sessions of an operator, and invalidates the operator's unused links. @throws ProblemError `not-found` */
export async function signOutEverywhere(engine: Engine, name: string): Promise<void> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  await engine.deleteCredentials(ID);
}

/** Starts a session with the secret of a link. @throws ProblemError `unauthorized` if the secret is unknown, used or too old */
export async function signIn(engine: Engine, linkSecret: string, now: number): Promise<SignedIn> {
  const digest = digestOfSecret(linkSecret);
  // Read before writing, so that an invalid link does not cause a write.
  const operator = await operatorOfLink(engine, linkSecret, now);
  const secret = randomText(secretLength);
  const expiresAt = now + sessionLifetimeMs;
  await engine.saveCredential(toCredential(secret, "session", operator.ID, expiresAt), now);
  // Store the session before consuming the link: if the write fails, the link still works. If the operator is signed out everywhere in between, both
  // are deleted.
  if (await engine.consumeCredential(digest)) return { secret, operator, expiresAt };
  await signOutSession(engine, secret);
  throw unusableLinkError();
}

/** Reads which operator a link signs in, without consuming it. @throws ProblemError `unauthorized` if the secret is unknown, used or too old */
export async function operatorOfLink(engine: Engine, linkSecret: string, now: number): Promise<ListedOperator> {
  const link = await engine.findCredential(digestOfSecret(linkSecret));
  const operator =
    link && isValid(link, "link", now) ? operatorOf(await readSystemRecords(engine), link.operator) : undefined;
  if (operator) return operator;
  throw unusableLinkError();
}

function unusableLinkError(): ProblemError {
  return new ProblemError(
    "unauthorized",
    "this link is unknown, was used already, or is older than 10 minutes; make a new one with `storefront operator link`",
  );
}

/** Finds the operator of a session; undefined if the session is unknown or has ended. @param system the records of the system site, up to date */
export async function findSession(
  engine: Engine,
  system: Pick<SystemRecords, "sites" | "operators">,
  secret: string,
  now: number,
): Promise<Omit<SignedIn, "secret"> | undefined> {
  const session = await engine.findCredential(digestOfSecret(secret));
  if (!session || !isValid(session, "session", now)) return undefined;
  const operator = operatorOf(system, session.operator);
  return operator && { operator, expiresAt: session.expiresAt };
}

/** Ends one session. */
export async function signOutSession(engine: Engine, secret: string): Promise<void> {
  await engine.consumeCredential(digestOfSecret(secret));
}

function toCredential(secret: string, kind: Credential["kind"], operator: number, expiresAt: number): Credential {
  return { digest: digestOfSecret(secret), kind, operator, expiresAt };
}

function isValid(credential: Credential, kind: Credential["kind"], now: number): boolean {
  return credential.kind === kind && now < credential.expiresAt;
}

function digestOfSecret(secret: string): string {
  return Bun.SHA256.hash(secret, "hex");
}

/** Finds the operator with this ID. @param system the records of the system site, up to date */
export function operatorOf(system: Pick<SystemRecords, "sites" | "operators">, id: number): ListedOperator | undefined {
  const found = system.operators.find(({ ID }) => ID === id);
  return found && toListed(found, system);
}

function requireOperator(system: SystemRecords, name: string): ListedOperator {
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

/** Whether an operator may manage a site. */
export function canManage(operator: Pick<OperatorRecord, "Sites">, site: number): boolean {
  return managedSiteIds(operator)?.has(site) ?? true;
}

/** Returns those of `sites` that an operator may manage. */
export function managedSites(
  operator: Pick<OperatorRecord, "Sites">,
  sites: readonly SiteRecord[],
): readonly SiteRecord[] {
  const ids = managedSiteIds(operator);
  return ids ? sites.filter(({ ID }) => ids.has(ID)) : sites;
}

/**
 * Changes the sites that an operator may manage. Sessions of the operator apply the change from the next request on.
 * @param sites their names; empty for all
 * @param options.isLast true to limit even the last operator of all sites. After that, only commands can add sites and operators.
 * @throws ProblemError `not-found` for an unknown operator or site, `conflict` for the last operator of all sites, `invalid-record` for too many
 * sites
 */
export async function setOperatorSites(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Promise<ListedOperator> {
  let changed: ListedOperator | undefined;
  await commitSystemChanges(engine, (system) => {
    const before = requireOperator(system, name);
    const Sites = toSiteIds(sites, system);
    if (Sites !== "" && !isLast) requireOtherGlobalOperator(system, before);
    changed = toListed({ ...before, Sites }, system);
    return [toUpdateIntent(operatorResource, before.ID, { Sites }, now)];
  });
  return changed as ListedOperator;
}
