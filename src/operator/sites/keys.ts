// Creates, lists, changes, revokes and rotates API keys. A key itself is never stored: its record contains its prefix and its digest.

import {
  createApiKey,
  hashApiKey,
  isKey,
  isPartialKey,
  isSandboxKey,
  minPrefixLength,
  type Scope,
  visiblePrefix,
} from "../../model/api-key.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { toDeclaredJson, type Values } from "../../model/record.ts";
import { key as keyResource } from "../../resources/key.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { commitSystemChanges, toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import {
  type KeyRecord,
  type SiteRecord,
  type SystemRecords,
  splitWords,
  toApiKey,
} from "../../system/system-records.ts";
import { presentSiteOf } from "./sandboxes.ts";

/** A key with its site and its last use. */
export interface ListedKey extends KeyRecord {
  /** The name of its site. */
  readonly siteName: string;
  /** When the key expires or was revoked, in milliseconds since 1970; infinite if neither. */
  readonly endsAt: number;
  /** The time of the last use that was saved; undefined if the key was never used. Servers save the times every half minute. */
  readonly lastUsed: Date | undefined;
}

export interface KeySettings {
  readonly label?: string | undefined;
  readonly scope?: Scope | undefined;
  /** Milliseconds since 1970; undefined for a key that does not expire. */
  readonly expiresAt?: number | undefined;
  /** Requests per second; undefined for the default of the server. */
  readonly rate?: number | undefined;
}

interface KeyChanges {
  readonly label?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | null | undefined;
  readonly rate?: number | null | undefined;
}

/** A new key: the key itself, which is not stored, and its record. */
export interface IssuedKey {
  readonly key: string;
  readonly record: ListedKey;
}

/** A key ends soon if it expires within this time: 30 days, in milliseconds. */
const soonMs = 30 * 24 * 60 * 60_000;

/** Maximum keys that a key names as its predecessors. */
const maxFormerKeys = 20;

/** Returns a key in the form that commands print as JSON, and that the console's API sends. @param now milliseconds since 1970 */
export function toKeyInfo(key: ListedKey, now: number) {
  const { ID: id, Prefix: prefix, Label: label, Scope: scope, Rate, Created: created, Expires, Revoked, endsAt } = key;
  const state = Revoked !== "" ? "revoked" : endsAt <= now ? "expired" : "valid";
  return {
    id,
    site: key.siteName,
    prefix,
    label,
    scope,
    rate: Rate === "" ? null : Number(Rate),
    created,
    expires: Expires || null,
    revoked: Revoked || null,
    lastUsed: key.lastUsed?.toISOString() ?? null,
    former: splitWords(key.Former),
    state,
    endsSoon: state === "valid" && endsAt < now + soonMs,
  } as const;
}

/** Returns the record of a key as it is stored. */
export function toKeyRecord({ siteName: _, endsAt: __, lastUsed: ___, ...record }: ListedKey): KeyRecord {
  return record;
}

/**
 * Creates a key for `site`. A key of a sandbox that was renewed meanwhile is for the new sandbox.
 * @throws ProblemError `invalid-record`, or `not-found` if the site was removed
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
    const created = createKeyIntent(present.ID, settings, now, present.SandboxOf !== "");
    key = created.key;
    return [created.intent];
  });
  return { key, record: toListed(JSON.parse(body as string), siteName) };
}

/** Lists the keys of `site`, or of all sites, including revoked and expired keys. */
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

/** Returns the labels of the keys of a site, by the prefix of the key, and by the prefixes of the keys that it has replaced. @param site ID */
export async function listKeyLabels(engine: Engine, site: number): Promise<ReadonlyMap<string, string>> {
  const { keys } = await readSystemRecords(engine);
  const own = keys.filter(({ Site }) => Number(Site) === site);
  const former = own.flatMap(({ Former, Label }) => splitWords(Former).map((prefix) => [prefix, Label] as const));
  return new Map([...former, ...own.map(({ Prefix, Label }) => [Prefix, Label] as const)]);
}

/**
 * Changes a key. Running servers apply the change to the next request.
 * @param changes undefined members stay as they are; `null` for `expiresAt` or `rate` removes the expiry or the rate
 * @throws ProblemError `invalid-record`, `not-found`, or `conflict` if the key is revoked or several keys begin with `prefix`
 */
export async function setKey(engine: Engine, prefix: string, changes: KeyChanges, now: number): Promise<ListedKey> {
  const { label, rate, expiresAt } = changes;
  const values = {
    ...(label === undefined ? {} : { Label: label }),
    ...(rate === undefined ? {} : { Rate: rate === null ? "" : String(rate) }),
    ...(expiresAt === undefined ? {} : { Expires: expiresAt === null ? "" : toInstant(expiresAt) }),
  };
  return changeKey(engine, prefix, now, (key) => {
    if (key.Revoked) throw new ProblemError("conflict", `the key ${key.Prefix} is revoked; create a new one`);
    return values;
  });
}

/** Revokes the key that begins with `prefix`, so that servers reject the next request with it. Revoking a key again changes nothing. */
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
 * Creates a key with the same label, scope, rate and expiry, and lets the old key expire after `overlap` milliseconds. The new key may undo the runs of
 * the old key and of all keys before. The old key may not undo runs of the new key.
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
      throw new ProblemError("conflict", `the key ${old.Prefix} is revoked or expired; create a new one`);
    const end = overlap > 0 ? { Expires: toInstant(Math.min(now + overlap, endsAt)) } : { Revoked: toInstant(now) };
    const settings = { ...toSettings(old), former: [old.Prefix, ...splitWords(old.Former)].slice(0, maxFormerKeys) };
    const isForSandbox = site !== undefined && site.SandboxOf !== "";
    const created = createKeyIntent(Number(old.Site), settings, now, isForSandbox);
    key = created.key;
    return [created.intent, toUpdateIntent(keyResource, old.ID, end, now)];
  });
  return { key, record: toListed(JSON.parse(body as string), site?.Name) };
}

function toSettings({ Label, Scope, Rate, Expires }: KeyRecord): KeySettings {
  return {
    label: Label,
    scope: Scope,
    rate: Rate === "" ? undefined : Number(Rate),
    expiresAt: Expires === "" ? undefined : Date.parse(Expires),
  };
}

/** Returns the key that begins with `text`: at least 8 characters, of a sandbox key 13, up to the whole key. */
function getKey(system: SystemRecords, text: string): KeyRecord {
  if (text.length < minPrefixLength(text)) throw shortPrefixError(text);
  const shown = visiblePrefix(text);
  const found = system.keys.filter((key) => canBeginWith(text, key));
  const [key] = found;
  // `sfk_test` can be the beginning of a key of a live site. It is also most of the mark of all sandbox keys, and names none of them.
  if (!key && text === "sfk_test") throw shortPrefixError("sfk_test_");
  if (!key) throw new ProblemError("not-found", `no key begins with ${shown}`);
  if (found.length > 1)
    throw new ProblemError("conflict", `${found.length} keys begin with ${shown}; give the whole key`);
  return key;
}

/** @param text the beginning of a key */
function shortPrefixError(text: string): ProblemError {
  const example = isSandboxKey(text) ? "sfk_test_AbCd" : "sfk_AbCd";
  const minLength = minPrefixLength(text);
  return new ProblemError(
    "bad-request",
    `invalid key prefix: give at least the first ${minLength} characters of the key, such as ${example}`,
  );
}

/** Whether `text` can be the beginning of the key. The characters of a key after its prefix are not stored. */
function canBeginWith(text: string, { Prefix, Digest }: KeyRecord): boolean {
  if (isKey(text)) return Digest === hashApiKey(text);
  if (text.length < minPrefixLength(Prefix)) return false;
  return Prefix.startsWith(text) || (text.startsWith(Prefix) && isPartialKey(text));
}

function siteOfKey({ sites }: SystemRecords, { Site }: KeyRecord): SiteRecord | undefined {
  return sites.find(({ ID }) => ID === Number(Site));
}

/** The settings of a new key, and the prefixes of the keys that it replaces, the latest first. */
interface NewKeySettings extends KeySettings {
  readonly former?: readonly string[];
}

/** Creates a key, and the intent to store its record. @param isForSandbox whether `site` is a sandbox @throws ProblemError `invalid-record` */
export function createKeyIntent(
  site: number,
  { label = "", scope = "write", expiresAt, rate, former = [] }: NewKeySettings,
  now: number,
  isForSandbox: boolean,
) {
  const { key, prefix, digest } = createApiKey(isForSandbox);
  const values = {
    Site: String(site),
    Prefix: prefix,
    Digest: digest,
    Label: label,
    Scope: scope,
    Rate: rate === undefined ? "" : String(rate),
    Created: toInstant(now),
    Expires: expiresAt === undefined ? "" : toInstant(expiresAt),
    Former: former.join(" "),
  };
  return { key, intent: toCreateIntent(keyResource, values, now) };
}
