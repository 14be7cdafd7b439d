// Manages API keys. A key itself is never stored, only its prefix and digest.

import { toCanonicalNetwork } from "../../lib/networks.ts";
import {
  createApiKey,
  endsSoonMs,
  hashApiKey,
  isKey,
  isPartialKey,
  isSandboxKey,
  minPrefixLength,
  visiblePrefix,
} from "../../model/api-key.ts";
import type { Intent } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { allRights, parseRights, toKeyRights } from "../../model/key-rights.ts";
import { toDeclaredJson, type Values } from "../../model/record.ts";
import { allResources } from "../../resources/all.ts";
import { key as keyResource } from "../../resources/key.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { commitSystemChanges, toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import {
  type KeyRecord,
  maxKeyNetworks,
  type SiteRecord,
  type SystemRecords,
  splitWords,
  toApiKey,
} from "../../system/system-records.ts";
import { presentSiteOf } from "./sandboxes.ts";

export interface ListedKey extends KeyRecord {
  /** Its site's name. */
  readonly siteName: string;
  /** When the key expires or was revoked, in milliseconds since 1970; infinite if neither. */
  readonly endsAt: number;
  /** As of half a minute ago or later, because that's how often servers save it. Undefined if the key was never used. */
  readonly lastUsed: Date | undefined;
}

export interface KeySettings {
  readonly label?: string | undefined;
  /** Rights and scopes (model/key-rights.ts). Default: `write`. */
  readonly rights?: readonly string[] | undefined;
  /** Networks in CIDR notation and single addresses from which the key can be used. Default: all. */
  readonly networks?: readonly string[] | undefined;
  /** Milliseconds since 1970; undefined if it never expires. */
  readonly expiresAt?: number | undefined;
  /** Requests per second; undefined for the server's default. */
  readonly rate?: number | undefined;
}

interface KeyChanges {
  readonly label?: string | undefined;
  readonly rights?: readonly string[] | undefined;
  /** Empty for all. */
  readonly networks?: readonly string[] | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | null | undefined;
  readonly rate?: number | null | undefined;
}

export interface IssuedKey {
  /** The key itself, which isn't stored. */
  readonly key: string;
  readonly record: ListedKey;
}

/** How many predecessors a key remembers. */
const maxFormerKeys = 20;

/** The JSON that commands print and the console's API returns. @param now milliseconds since 1970 */
export function toKeyInfo(key: ListedKey, now: number) {
  const { ID: id, Prefix: prefix, Label: label, Rate, Created: created, Expires, Revoked, endsAt } = key;
  const rights = toKeyRights(key.Scope);
  const state = Revoked !== "" ? "revoked" : endsAt <= now ? "expired" : "valid";
  return {
    id,
    site: key.siteName,
    prefix,
    label,
    scope: rights.scope ?? null,
    rights: allRights(allResources).filter((right) => rights.allows(right)),
    can: rights.text === "none" ? [] : splitWords(rights.text),
    networks: splitWords(key.Networks),
    rate: Rate === "" ? null : Number(Rate),
    created,
    expires: Expires || null,
    revoked: Revoked || null,
    lastUsed: key.lastUsed?.toISOString() ?? null,
    former: splitWords(key.Former),
    state,
    endsSoon: state === "valid" && endsAt < now + endsSoonMs,
  } as const;
}

/** The key's record as it's stored. */
export function toKeyRecord({ siteName: _, endsAt: __, lastUsed: ___, ...record }: ListedKey): KeyRecord {
  return record;
}

/**
 * If `site` is a sandbox that has just been refreshed, the key is for the new one.
 * @throws ProblemError `invalid-record`, `bad-request` for a right that doesn't exist or a malformed network, or `not-found` if the site was removed
 */
export async function createKey(
  engine: Engine,
  site: SiteRecord,
  settings: KeySettings,
  now: number,
): Promise<IssuedKey> {
  let key = "";
  let siteName = "";
  const [body] = await commitSystemChanges(engine, ({ sites }) => {
    const present = presentSiteOf(sites, site);
    if (!present) throw new ProblemError("not-found", `the site \`${site.Name}\` was removed`);
    siteName = present.Name;
    key = createApiKey(present.SandboxOf !== "").key;
    return [createKeyIntent(present.ID, toNewKeyValues(settings), key, now)];
  });
  return { key, record: toListed(JSON.parse(body as string), siteName) };
}

/** Lists the keys of `site`, or all keys, including revoked and expired ones. */
export async function listKeys(engine: Engine, site?: SiteRecord): Promise<ListedKey[]> {
  const uses = await engine.readLastKeyUses();
  const system = await readSystemRecords(engine);
  const sites = site ? [site] : system.sites;
  const names = new Map(sites.map(({ ID, Name }) => [ID, Name]));
  return system.keys
    .filter((key) => !site || Number(key.Site) === site.ID)
    .map((key) => toListed(key, names.get(Number(key.Site)), uses.get(key.ID)));
}

/** @param usedAt milliseconds since 1970; undefined if the key was never used */
function toListed(key: KeyRecord, siteName = "", usedAt?: number): ListedKey {
  return {
    ...key,
    siteName,
    endsAt: toApiKey(key).endsAt,
    lastUsed: usedAt === undefined ? undefined : new Date(usedAt),
  };
}

/** A site's key labels by prefix. A rotated key's old prefixes have the label of the current key. */
export async function listKeyLabels(engine: Engine, site: number): Promise<ReadonlyMap<string, string>> {
  const { keys } = await readSystemRecords(engine);
  const own = keys.filter(({ Site }) => Number(Site) === site);
  const former = own.flatMap(({ Former, Label }) => splitWords(Former).map((prefix) => [prefix, Label] as const));
  return new Map([...former, ...own.map(({ Prefix, Label }) => [Prefix, Label] as const)]);
}

/**
 * Takes effect with the next request.
 * @param changes undefined members stay as they are; `null` removes an `expiresAt` or `rate`
 * @throws ProblemError as `createKey`, `not-found`, or `conflict` if the key is revoked or several keys start with `prefix`
 */
export async function setKey(engine: Engine, prefix: string, changes: KeyChanges, now: number): Promise<ListedKey> {
  const values = toKeyValues(changes);
  return changeKey(engine, prefix, now, (key) => {
    if (key.Revoked) throw new ProblemError("conflict", `the key ${key.Prefix} has been revoked; create a new one`);
    return values;
  });
}

/** The record's values that change. @throws ProblemError `bad-request` for a right that doesn't exist or a malformed network */
function toKeyValues({ label, rights, networks, rate, expiresAt }: KeyChanges): Values {
  return {
    ...(label === undefined ? {} : { Label: label }),
    ...(rights === undefined ? {} : { Scope: parseRights(rights, allResources).text }),
    ...(networks === undefined ? {} : { Networks: parseNetworks(networks) }),
    ...(rate === undefined ? {} : { Rate: rate === null ? "" : String(rate) }),
    ...(expiresAt === undefined ? {} : { Expires: expiresAt === null ? "" : toInstant(expiresAt) }),
  };
}

/** Takes effect with the next request. Revoking a key again changes nothing. */
export function revokeKey(engine: Engine, prefix: string, now: number): Promise<ListedKey> {
  return changeKey(engine, prefix, now, ({ Revoked }) => ({ Revoked: Revoked || toInstant(now) }));
}

async function changeKey(
  engine: Engine,
  prefix: string,
  now: number,
  change: (key: KeyRecord) => Values,
): Promise<ListedKey> {
  let siteName: string | undefined;
  const [body] = await commitSystemChanges(engine, (system) => {
    const key = getKey(system, prefix);
    siteName = siteOfKey(system, key)?.Name;
    return [toUpdateIntent(keyResource, key.ID, change(key), now)];
  });
  const key: KeyRecord = JSON.parse(toDeclaredJson(keyResource, body as string));
  return toListed(key, siteName, (await engine.readLastKeyUses()).get(key.ID));
}

/**
 * Creates a key with the same label, rights, networks, rate and expiry, and lets the old one expire after `overlap` milliseconds. The new key can undo the runs of
 * all its predecessors, but they can't undo its runs.
 * @throws ProblemError `conflict` if the old key is revoked or expired
 */
export async function rotateKey(engine: Engine, prefix: string, overlap: number, now: number): Promise<IssuedKey> {
  let key = "";
  let site: SiteRecord | undefined;
  const [body] = await commitSystemChanges(engine, (system) => {
    const old = getKey(system, prefix);
    site = siteOfKey(system, old);
    const { endsAt } = toApiKey(old);
    if (endsAt <= now)
      throw new ProblemError("conflict", `the key ${old.Prefix} has been revoked or has expired; create a new one`);
    const end = overlap > 0 ? { Expires: toInstant(Math.min(now + overlap, endsAt)) } : { Revoked: toInstant(now) };
    const { Label, Scope, Networks, Rate, Expires } = old;
    const Former = [old.Prefix, ...splitWords(old.Former)].slice(0, maxFormerKeys).join(" ");
    const values = { Label, Scope, Networks, Rate, Expires, Former };
    key = createApiKey(site !== undefined && site.SandboxOf !== "").key;
    return [createKeyIntent(Number(old.Site), values, key, now), toUpdateIntent(keyResource, old.ID, end, now)];
  });
  return { key, record: toListed(JSON.parse(body as string), site?.Name) };
}

/** @param text the first 8 or more characters of a key (13 for a sandbox key), up to the whole key */
function getKey(system: SystemRecords, text: string): KeyRecord {
  if (text.length < minPrefixLength(text)) throw shortPrefixError(text);
  const shown = visiblePrefix(text);
  const found = system.keys.filter((key) => matchesPrefix(text, key));
  const [key] = found;
  // `sfk_test` could start a live key. It's also most of what every sandbox key starts with, so it doesn't identify one.
  if (!key && text === "sfk_test") throw shortPrefixError("sfk_test_");
  if (!key) throw new ProblemError("not-found", `no key starts with ${shown}; see \`key list\``);
  if (found.length > 1)
    throw new ProblemError("conflict", `${found.length} keys start with ${shown}; give the whole key`);
  return key;
}

/** @param text the start of a key */
function shortPrefixError(text: string): ProblemError {
  const example = isSandboxKey(text) ? "sfk_test_AbCd" : "sfk_AbCd";
  const minLength = minPrefixLength(text);
  return new ProblemError(
    "bad-request",
    `the key prefix is too short: give at least the first ${minLength} characters, such as ${example}`,
  );
}

/** Whether `text` can be the start of the key, of which we only know the prefix and the digest. */
function matchesPrefix(text: string, { Prefix, Digest }: KeyRecord): boolean {
  if (isKey(text)) return Digest === hashApiKey(text);
  if (text.length < minPrefixLength(Prefix)) return false;
  return Prefix.startsWith(text) || (text.startsWith(Prefix) && isPartialKey(text));
}

function siteOfKey({ sites }: SystemRecords, { Site }: KeyRecord): SiteRecord | undefined {
  return sites.find(({ ID }) => ID === Number(Site));
}

/** @throws ProblemError `bad-request` for a right that doesn't exist or a malformed network */
export function toNewKeyValues(settings: KeySettings): Values {
  return toKeyValues({ ...settings, rights: settings.rights ?? ["write"] });
}

/** @param values the key's settings @param key from `createApiKey` @throws ProblemError `invalid-record` */
export function createKeyIntent(site: number, values: Values, key: string, now: number): Intent {
  const own = { Site: String(site), Prefix: visiblePrefix(key), Digest: hashApiKey(key), Created: toInstant(now) };
  return toCreateIntent(keyResource, { ...own, ...values }, now);
}

function parseNetworks(texts: readonly string[]): string {
  const networks = new Set(texts.map(parseNetwork));
  if (networks.size <= maxKeyNetworks) return [...networks].join(" ");
  throw new ProblemError("bad-request", `a key can have up to ${maxKeyNetworks} networks, not ${networks.size}`);
}

/** @returns its canonical form @throws ProblemError `bad-request` that says how to write it */
export function parseNetwork(text: string): string {
  const found = toCanonicalNetwork(text);
  const sent = `\`${text.slice(0, 100)}\``;
  if (!found)
    throw new ProblemError(
      "bad-request",
      `${sent} isn't a network; write one like 203.0.113.0/24, 2001:db8::/32 or a single address`,
    );
  if (found.isExact) return found.network;
  throw new ProblemError(
    "bad-request",
    `the network ${sent} has bits set after its prefix; did you mean \`${found.network}\`, or the single address \`${text.replace(/\/.*/, "")}\`?`,
  );
}
