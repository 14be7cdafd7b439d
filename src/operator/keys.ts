import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { digestOf, isBeginning, isKey, makeKey, type Scope, shownOf } from "../model/key.ts";
import { toDeclared } from "../model/record.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import type { SiteRecord } from "./sites.ts";
import { changeSystem, readSystem, type System, toCreate, toUpdate } from "./system.ts";

/** `sfk_` and four more: less would revoke the wrong one too easily. */
const minPrefixLength = 8;

export interface KeyRecord {
  readonly ID: number;
  /** Number of its site. */
  readonly Site: string;
  readonly Prefix: string;
  readonly Digest: string;
  readonly Label: string;
  readonly Scope: Scope;
  readonly Rate: string;
  readonly Created: string;
  readonly Expires: string;
  readonly Revoked: string;
}

/** A key as `key list` shows it. */
export interface ListedKey extends KeyRecord {
  /** When it was last used, to the half minute; undefined for never. */
  readonly lastUsed: Date | undefined;
}

export interface KeySettings {
  readonly label?: string | undefined;
  readonly scope?: Scope | undefined;
  /** Milliseconds since 1970; undefined for never. */
  readonly expiresAt?: number | undefined;
  /** Requests per second; undefined for the server's own limit. */
  readonly rate?: number | undefined;
}

/** A key that was just made: the only time that it is known. */
export interface IssuedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

/** Issues a key for `site`. @throws Refusal `invalid-record` */
export async function createKey(
  engine: Engine,
  site: SiteRecord,
  settings: KeySettings,
  now: number,
): Promise<IssuedKey> {
  const { intent, key } = toIssue(site.ID, settings, now);
  const [body] = await changeSystem(engine, (system) => {
    const isThere = system.records<SiteRecord>(siteResource).some(({ ID }) => ID === site.ID);
    if (!isThere) throw new Refusal("not-found", `the site "${site.Name}" has just been removed`);
    return [intent];
  });
  return { key, record: JSON.parse(body as string) };
}

/** The keys of `site`, those that no longer work included. */
export async function listKeys(engine: Engine, site: SiteRecord): Promise<ListedKey[]> {
  const uses = await engine.keyUses();
  const keys = (await readSystem(engine)).records<KeyRecord>(keyResource);
  return keys
    .filter((key) => Number(key.Site) === site.ID)
    .map((key) => {
      const at = uses.get(key.ID);
      return { ...key, lastUsed: at === undefined ? undefined : new Date(at) };
    });
}

/** Revokes the key that begins with `prefix`, from the next request on. Revoking it again changes nothing. */
export async function revokeKey(engine: Engine, prefix: string, now: number): Promise<KeyRecord> {
  const [body] = await changeSystem(engine, (system) => {
    const key = findKey(system, prefix);
    const Revoked = key.Revoked || toInstant(now);
    return [toUpdate(keyResource, key.ID, { Revoked }, now)];
  });
  return JSON.parse(toDeclared(keyResource, body as string));
}

/**
 * Issues a key with the same label, scope, rate and expiry, and lets the old one work for `overlap` milliseconds more.
 * @throws Refusal `conflict` when the old one does not work any more
 */
export async function rotateKey(engine: Engine, prefix: string, overlap: number, now: number): Promise<IssuedKey> {
  let key = "";
  const [body] = await changeSystem(engine, (system) => {
    const old = findKey(system, prefix);
    const ends = [old.Revoked, old.Expires].filter((time) => time !== "").map((time) => Date.parse(time));
    if (Math.min(...ends) <= now)
      throw new Refusal("conflict", `the key ${old.Prefix} does not work any more; create a new one`);
    const end = overlap > 0 ? { Expires: toInstant(Math.min(now + overlap, ...ends)) } : { Revoked: toInstant(now) };
    const issue = toIssue(Number(old.Site), toSettings(old), now);
    key = issue.key;
    return [issue.intent, toUpdate(keyResource, old.ID, end, now)];
  });
  return { key, record: JSON.parse(body as string) };
}

function toSettings({ Label, Scope, Rate, Expires }: KeyRecord): KeySettings {
  return {
    label: Label,
    scope: Scope,
    rate: Rate === "" ? undefined : Number(Rate),
    expiresAt: Expires === "" ? undefined : Date.parse(Expires),
  };
}

/** The key that begins with `text`: eight characters of it or more, up to the whole key, which a client may have at hand. */
function findKey(system: System, text: string): KeyRecord {
  if (text.length < minPrefixLength)
    throw new Refusal("bad-request", `give at least ${minPrefixLength} characters of the key, such as sfk_AbCd`);
  const shown = shownOf(text);
  const found = system.records<KeyRecord>(keyResource).filter((key) => mayBegin(text, key));
  const [key] = found;
  if (!key) throw new Refusal("not-found", `there is no key that begins with ${shown}`);
  if (found.length > 1) throw new Refusal("conflict", `${found.length} keys begin with ${shown}; give the whole key`);
  return key;
}

/** Whether `key` begins with `text`, as far as can be told: the characters after the prefix are stored nowhere. */
function mayBegin(text: string, { Prefix, Digest }: KeyRecord): boolean {
  if (isKey(text)) return Digest === digestOf(text);
  return Prefix.startsWith(text) || (text.startsWith(Prefix) && isBeginning(text));
}

function toIssue(site: number, { label = "", scope = "write", expiresAt, rate }: KeySettings, now: number) {
  const { key, prefix, digest } = makeKey();
  const values = {
    Site: String(site),
    Prefix: prefix,
    Digest: digest,
    Label: label,
    Scope: scope,
    Rate: rate === undefined ? "" : String(rate),
    Created: toInstant(now),
    Expires: expiresAt === undefined ? "" : toInstant(expiresAt),
  };
  return { key, intent: toCreate(keyResource, values, now) };
}

function toInstant(at: number): string {
  return new Date(at).toISOString();
}
