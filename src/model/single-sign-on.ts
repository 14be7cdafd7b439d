// Who may sign in with OpenID Connect, and what they may do. An operator's role and sites come from mappings such as
// `groups=shop-garden:editor@garden,orchard`, which are matched with the claims that the provider makes about a person.

import { ProblemError } from "./errors.ts";
import { type GivenRole, roleNamed, roles } from "./operator-role.ts";

/** The provider and what it decides. */
export interface SingleSignOnSettings {
  /** In normal form, which is part of each person's identity, however the provider spells it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Path of the file with the client secret. */
  readonly secretFile: string;
  readonly mappings: readonly RoleMapping[];
  /** How long a session lasts before the provider is asked again. */
  readonly sessionMs: number;
  /** The console's origin, such as `https://console.example`. */
  readonly consoleUrl: string;
}

/** What people may do. */
export interface MappedAccess {
  readonly role: GivenRole;
  /** Names of live sites, at least one; undefined for all. */
  readonly sites: readonly string[] | undefined;
}

interface RoleMapping extends MappedAccess {
  /** A claim's name, or a path such as `realm_access.roles`. */
  readonly claim: string;
  readonly value: string;
}

/** Members of an ID token, as the provider sent them. */
export type Claims = Readonly<Record<string, unknown>>;

/** At many providers, people can change these themselves. */
const ownClaims = new Set(["name", "given_name", "family_name", "middle_name", "nickname", "preferred_username"]);

/** @param text mappings separated by semicolons @throws ProblemError `bad-request` about the first invalid one */
export function parseRoleMappings(text: string, option: string): RoleMapping[] {
  const given = text.split(/[;\n]/).filter((part) => part.trim() !== "");
  return (given.length > 0 ? given : [""]).map((part) => parseRoleMapping(part.trim(), option));
}

function parseRoleMapping(text: string, option: string): RoleMapping {
  // Group names can contain colons, so the last one counts.
  const [, claim = "", value = "", role = "", sites] = /^([^=]+)=(.+):([^:@]*)(?:@([^:@]*))?$/.exec(text) ?? [];
  const names = sites?.split(",").map((name) => name.trim());
  const known = roleNamed(role.toLowerCase());
  const problem = (why: string) => new ProblemError("bad-request", `${option}: ${why} in "${text.slice(0, 200)}"`);
  if (claim === "")
    throw new ProblemError(
      "bad-request",
      `${option} must be a claim, its value and a role, such as "groups=storefront-admins:admin" or "groups=shop-garden:editor@garden,orchard", not "${text.slice(0, 200)}"`,
    );
  if (!known) throw problem(`the role must be one of ${roles.join(", ")}, not "${role}",`);
  // An empty list would mean all sites.
  if (names?.includes("")) throw problem("a site's name is missing after @");
  if (ownClaims.has(claim))
    throw problem(`people can change their own \`${claim}\`, so use a group, a role or \`sub\` instead,`);
  return { claim, value, role: known, sites: names };
}

/**
 * Returns what a person may do: the strongest role that matches, in all sites that mappings give them in that role. Undefined if nothing matches. An
 * e-mail address only counts if the provider has verified it.
 */
export function toAccess(claims: Claims, mappings: readonly RoleMapping[]): MappedAccess | undefined {
  const matching = mappings.filter((mapping) => matches(claims, mapping));
  const role = roles.findLast((one) => matching.some((mapping) => mapping.role === one));
  if (role === undefined) return undefined;
  const granted = matching.filter((mapping) => mapping.role === role);
  if (granted.some(({ sites }) => sites === undefined)) return { role, sites: undefined };
  return { role, sites: [...new Set(granted.flatMap(({ sites = [] }) => sites))] };
}

function matches(claims: Claims, { claim, value }: RoleMapping): boolean {
  const given = claimAt(claims, claim);
  const texts = (Array.isArray(given) ? given : [given]).map(toText);
  if (claim !== "email") return texts.includes(value);
  return isEmailVerified(claims) && texts.some((text) => text !== undefined && toLower(text) === toLower(value));
}

/** Only ASCII, because the Kelvin sign in somebody else's address would become a `k`. */
function toLower(address: string): string {
  return address.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Some providers send booleans as text. */
export function isEmailVerified({ email_verified: verified }: Claims): boolean {
  return verified === true || verified === "true";
}

/** A claim's name can contain dots itself, as in `https://shop.example/roles`. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split(".")) {
    const isParent = typeof value === "object" && value !== null && Object.hasOwn(value, name);
    value = isParent ? (value as Claims)[name] : undefined;
  }
  return value;
}

function toText(value: unknown): string | undefined {
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}

/** Whether a claim that mappings need isn't there. */
export function lacksClaims(claims: Claims, mappings: readonly RoleMapping[]): boolean {
  return mappings.some(({ claim }) => claimAt(claims, claim) === undefined);
}
