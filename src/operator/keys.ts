import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { makeKey, type Scope } from "../model/key.ts";
import { key as keyResource } from "../resources/key.ts";
import type { SiteRecord } from "./sites.ts";
import { commitAll, systemRecords, toCreate, toUpdate } from "./system.ts";

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
  const [body] = await commitAll(engine, [intent]);
  return { key, record: JSON.parse(body as string) };
}

/** The keys of `site`, those that no longer work included. */
export async function listKeys(engine: Engine, site: SiteRecord): Promise<ListedKey[]> {
  const uses = await engine.keyUses();
  const keys = await systemRecords<KeyRecord>(engine, keyResource);
  return keys
    .filter((key) => Number(key.Site) === site.ID)
    .map((key) => {
      const at = uses.get(key.ID);
      return { ...key, lastUsed: at === undefined ? undefined : new Date(at) };
    });
}

/** Revokes the key with this prefix, from the next request on. Revoking it again changes nothing. */
export async function revokeKey(engine: Engine, prefix: string, now: number): Promise<KeyRecord> {
  const key = await findKey(engine, prefix);
  if (key.Revoked !== "") return key;
  const [body] = await commitAll(engine, [toUpdate(keyResource, key.ID, { Revoked: toInstant(now) }, now)]);
  return JSON.parse(body as string);
}

/**
 * Issues a key with the same label, scope, rate and expiry, and lets the old one work for `overlap` milliseconds more.
 * @throws Refusal `conflict` when the old one does not work any more
 */
export async function rotateKey(engine: Engine, prefix: string, overlap: number, now: number): Promise<IssuedKey> {
  const old = await findKey(engine, prefix);
  const ends = [old.Revoked, old.Expires].filter((time) => time !== "").map((time) => Date.parse(time));
  if (Math.min(...ends) <= now)
    throw new Refusal("conflict", `the key ${old.Prefix} does not work any more; create a new one`);
  const end = overlap > 0 ? { Expires: toInstant(Math.min(now + overlap, ...ends)) } : { Revoked: toInstant(now) };
  const settings = {
    label: old.Label,
    scope: old.Scope,
    rate: old.Rate === "" ? undefined : Number(old.Rate),
    expiresAt: old.Expires === "" ? undefined : Date.parse(old.Expires),
  };
  const { intent, key } = toIssue(Number(old.Site), settings, now);
  const [body] = await commitAll(engine, [intent, toUpdate(keyResource, old.ID, end, now)]);
  return { key, record: JSON.parse(body as string) };
}

async function findKey(engine: Engine, prefix: string): Promise<KeyRecord> {
  const keys = await systemRecords<KeyRecord>(engine, keyResource);
  const found = keys.filter((key) => prefix !== "" && key.Prefix.startsWith(prefix));
  const [key] = found;
  if (!key) throw new Refusal("not-found", `there is no key that starts with ${prefix.slice(0, 12)}`);
  if (found.length > 1)
    throw new Refusal("conflict", `${found.length} keys start with ${prefix}; give more of the prefix`);
  return key;
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
