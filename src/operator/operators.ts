// The people who may use the console, and how they sign in (contract section 13).

import { randomText } from "../lib/text.ts";
import type { Credential, Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { toDeclared } from "../model/record.ts";
import { operator as operatorResource } from "../resources/operator.ts";
import { site as siteResource } from "../resources/site.ts";
import {
  changeSystem,
  readSystem,
  type System,
  toCreate,
  toDelete,
  toInstant,
  toUpdate,
} from "../system/system-changes.ts";
import { requireSite, type SiteRecord } from "./sites.ts";

/** Milliseconds in which a link must be used. */
const linkLifetime = 10 * 60_000;
/** Milliseconds after which a session ends. */
export const sessionLifetime = 12 * 60 * 60_000;
/** Letters and digits of a secret: 190 random bits. */
const secretLength = 32;
/** Operators of a database. */
const maxOperators = 1000;

export interface OperatorRecord {
  readonly ID: number;
  readonly Name: string;
  /** IDs of sites, separated by spaces; empty for all. */
  readonly Sites: string;
  readonly Created: string;
}

/** An operator as `operator list` shows it. */
export interface ListedOperator extends OperatorRecord {
  /** Names of the sites; undefined for all. Sites that were removed are left out. */
  readonly siteNames: readonly string[] | undefined;
}

/** What a browser needs to be signed in. */
interface SignedIn {
  readonly secret: string;
  readonly operator: ListedOperator;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export async function listOperators(engine: Engine): Promise<ListedOperator[]> {
  const system = await readSystem(engine);
  return system.records<OperatorRecord>(operatorResource).map((operator) => toListed(operator, system));
}

/**
 * Adds an operator.
 * @param sites names of the sites that it may manage; none for all
 * @throws Refusal `invalid-record`, `not-found` for an unknown site, or `conflict` when the name is taken
 */
export async function addOperator(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
): Promise<ListedOperator> {
  let listed: ListedOperator | undefined;
  const [body] = await changeSystem(engine, (system) => {
    const present = system.records<OperatorRecord>(operatorResource);
    if (present.some(({ Name }) => Name === name))
      throw new Refusal("conflict", `the operator \`${name}\` exists already`);
    if (present.length >= maxOperators) throw new Refusal("conflict", `there are ${maxOperators} operators already`);
    const values = { Name: name, Sites: toSiteIds(sites, system), Created: toInstant(now) };
    const intent = toCreate(operatorResource, values, now);
    listed = toListed({ ...JSON.parse(intent.text), ID: 0 }, system);
    return [intent];
  });
  return { ...(listed as ListedOperator), ID: JSON.parse(toDeclared(operatorResource, body as string)).ID };
}

/**
 * Removes an operator and ends its sessions.
 * @param options.isLast true to remove the last operator of all sites, too: then only commands can add sites and operators
 * @throws Refusal `not-found`, or `conflict` for the last operator of all sites
 */
export async function removeOperator(
  engine: Engine,
  name: string,
  now: number,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Promise<ListedOperator> {
  let removed: ListedOperator | undefined;
  await changeSystem(engine, (system) => {
    removed = requireOperator(system, name);
    if (!isLast) requireAnother(system, removed);
    return [toDelete(operatorResource, removed.ID, now)];
  });
  const { ID } = removed as ListedOperator;
  await engine.deleteCredentials(ID);
  return removed as ListedOperator;
}

/** The value of `Sites` for the sites with these names; none for all. @throws Refusal `not-found` */
function toSiteIds(names: readonly string[], system: System): string {
  const known = system.records<SiteRecord>(siteResource);
  return [...new Set(names.map((name) => requireSite(known, name).ID))].join(" ");
}

/** @throws Refusal `conflict` when no operator of all sites other than this one is left */
function requireAnother(system: System, { ID, Name, siteNames }: ListedOperator): void {
  const others = system.records<OperatorRecord>(operatorResource).filter((other) => other.ID !== ID);
  if (siteNames || others.some(({ Sites }) => Sites === "")) return;
  throw new Refusal(
    "conflict",
    `\`${Name}\` is the last operator of all sites: without one, sites and operators can be managed by commands only`,
  );
}

/** Makes a link's secret, which signs in once within `linkLifetime`. @throws Refusal `not-found` */
export async function makeLink(engine: Engine, name: string, now: number): Promise<string> {
  const { ID } = requireOperator(await readSystem(engine), name);
  const secret = randomText(secretLength);
  await engine.putCredential(toCredential(secret, "link", ID, now + linkLifetime), now);
  return secret;
}

/** Ends the sessions of an operator, and its links that were not used. @throws Refusal `not-found` */
export async function signOutEverywhere(engine: Engine, name: string): Promise<void> {
  const { ID } = requireOperator(await readSystem(engine), name);
  await engine.deleteCredentials(ID);
}

/** Begins a session with the secret of a link. @throws Refusal `unauthorized` when it is unknown, used or too old */
export async function beginSession(engine: Engine, linkSecret: string, now: number): Promise<SignedIn> {
  const digest = digestOfSecret(linkSecret);
  // Read first: what is no link costs no write.
  const operator = await operatorOfLink(engine, linkSecret, now);
  const secret = randomText(secretLength);
  const expiresAt = now + sessionLifetime;
  await engine.putCredential(toCredential(secret, "session", operator.ID, expiresAt), now);
  // In this order, who is signed out everywhere meanwhile keeps neither of both, and a failed write leaves the link.
  if (await engine.takeCredential(digest)) return { secret, operator, expiresAt };
  await endSession(engine, secret);
  throw unusableLink();
}

/** Reads whom a link signs in, without spending it. @throws Refusal `unauthorized` when it is unknown, used or too old */
export async function operatorOfLink(engine: Engine, linkSecret: string, now: number): Promise<ListedOperator> {
  const link = await engine.credential(digestOfSecret(linkSecret));
  const operator = link && isValid(link, "link", now) ? operatorOf(await readSystem(engine), link.operator) : undefined;
  if (operator) return operator;
  throw unusableLink();
}

function unusableLink(): Refusal {
  return new Refusal(
    "unauthorized",
    "this link is unknown, was used already, or is older than 10 minutes; make a new one with `storefront operator link`",
  );
}

/** The operator of a session; undefined when it is unknown or has ended. @param system as new as the store */
export async function findSession(
  engine: Engine,
  system: Pick<System, "records">,
  secret: string,
  now: number,
): Promise<Omit<SignedIn, "secret"> | undefined> {
  const session = await engine.credential(digestOfSecret(secret));
  if (!session || !isValid(session, "session", now)) return undefined;
  const operator = operatorOf(system, session.operator);
  return operator && { operator, expiresAt: session.expiresAt };
}

/** Ends one session. */
export async function endSession(engine: Engine, secret: string): Promise<void> {
  await engine.takeCredential(digestOfSecret(secret));
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

/** The operator with this ID. @param system as new as the store */
export function operatorOf(system: Pick<System, "records">, id: number): ListedOperator | undefined {
  const found = system.records<OperatorRecord>(operatorResource).find(({ ID }) => ID === id);
  return found && toListed(found, system);
}

function requireOperator(system: System, name: string): ListedOperator {
  const operators = system.records<OperatorRecord>(operatorResource);
  const found = operators.find(({ Name }) => Name === name);
  if (found) return toListed(found, system);
  const names = operators.slice(0, 10).map(({ Name }) => Name);
  const hint = names.length > 0 ? `known operators: ${names.join(", ")}` : "add one with `storefront operator add`";
  throw new Refusal("not-found", `unknown operator \`${name}\`: ${hint}`);
}

function toListed(operator: OperatorRecord, system: Pick<System, "records">): ListedOperator {
  if (operator.Sites === "") return { ...operator, siteNames: undefined };
  const ids = new Set(operator.Sites.split(" ").map(Number));
  const sites = system.records<SiteRecord>(siteResource).filter(({ ID }) => ids.has(ID));
  return { ...operator, siteNames: sites.map(({ Name }) => Name) };
}

// Which sites an operator may manage.

export function mayManage({ Sites }: Pick<OperatorRecord, "Sites">, site: number): boolean {
  return Sites === "" || Sites.split(" ").includes(String(site));
}

/** Those of `sites` that an operator may manage. */
export function managedSites(
  { Sites }: Pick<OperatorRecord, "Sites">,
  sites: readonly SiteRecord[],
): readonly SiteRecord[] {
  if (Sites === "") return sites;
  const own = new Set(Sites.split(" ").map(Number));
  return sites.filter(({ ID }) => own.has(ID));
}

/**
 * Changes the sites that an operator may manage. Its sessions have the change from the next request on.
 * @param sites their names; none for all
 * @param options.isLast true to limit also the last operator of all sites: then only commands can add sites and operators
 * @throws Refusal `not-found` for an unknown operator or site, `conflict` for the last operator of all sites, `invalid-record` for too many sites
 */
export async function setOperatorSites(
  engine: Engine,
  name: string,
  sites: readonly string[],
  now: number,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Promise<ListedOperator> {
  let changed: ListedOperator | undefined;
  await changeSystem(engine, (system) => {
    const before = requireOperator(system, name);
    const Sites = toSiteIds(sites, system);
    if (Sites !== "" && !isLast) requireAnother(system, before);
    changed = toListed({ ...before, Sites }, system);
    return [toUpdate(operatorResource, before.ID, { Sites }, now)];
  });
  return changed as ListedOperator;
}
