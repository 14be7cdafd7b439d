// Works out how records from a backup or a site file are limited by what was last decided about them (store/database/restrictions.ts).

import { type IpNetwork, isWithin, toNetwork } from "../../lib/networks.ts";
import type { RecordedRestriction } from "../../model/amend.ts";
import { toKeyRights } from "../../model/key-rights.ts";
import { rightsOf, toRole } from "../../model/operator-role.ts";
import { toDeclaredJson, type Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { key as keyResource } from "../../resources/key.ts";
import {
  digestOfSecret,
  lastingName,
  limitsIn,
  type Replacement,
  removedField,
  replacesField,
  secretKind,
  textIn,
} from "../../store/database/restrictions.ts";
import { type KeyRecord, maxKeyNetworks, splitWords } from "../../system/system-records.ts";

/** Decided values by field. */
export type Decided = Readonly<Record<string, string>>;

const nothing: Decided = {};

export class RecordedLimits {
  readonly #decided = new Map<string, Record<string, string>>();
  /** By the new key's digest: the old key's digest, and the new key's record. */
  readonly #replacements = new Map<string, { readonly digest: string; readonly record: KeyRecord }>();

  constructor(rows: readonly RecordedRestriction[]) {
    for (const { kind, name, field, value } of rows) {
      if (field === replacesField) this.#replacements.set(name, toReplacement(value));
      else this.#decided.set(`${kind} ${name}`, { ...this.#decided.get(`${kind} ${name}`), [field]: value });
    }
  }

  /** @param resource a resource's name */
  of(resource: string, record: object): Decided {
    return this.#of(resource, lastingName(resource, record));
  }

  #of(kind: string, name: string): Decided {
    return this.#decided.get(`${kind} ${name}`) ?? nothing;
  }

  isRemoved(resource: string, record: object): boolean {
    return (this.of(resource, record)[removedField] ?? "") !== "";
  }

  isRotated(secret: string): boolean {
    return (this.#of(secretKind, digestOfSecret(secret))[removedField] ?? "") !== "";
  }

  /**
   * Finds valid keys that have replaced keys in a backup through `key rotate`, directly or indirectly. Without them, clients that have the new key would
   * be locked out.
   * @param restored the backup's keys by digest
   * @returns their records from the replaced database, by the digest of the key in the backup
   */
  replacementsOf(restored: ReadonlyMap<string, KeyRecord>, now: number): ReadonlyMap<string, readonly KeyRecord[]> {
    const found = new Map<string, KeyRecord[]>();
    for (const [digest, { record }] of this.#replacements) {
      const origin = restored.has(digest) ? undefined : this.#originOf(digest, restored);
      const key: KeyRecord = { ...record, ...this.#of(keyResource.name, digest) };
      if (origin === undefined || key.Revoked !== "" || Date.parse(key.Expires) <= now) continue;
      found.set(origin, [...(found.get(origin) ?? []), key]);
    }
    return found;
  }

  /** The digest of the restored key that a key has replaced. */
  #originOf(digest: string, restored: ReadonlyMap<string, unknown>): string | undefined {
    // In a damaged backup, they could form a cycle.
    const seen = new Set<string>();
    let origin: string | undefined = digest;
    while (origin !== undefined && !restored.has(origin) && !seen.has(origin)) {
      seen.add(origin);
      origin = this.#replacements.get(origin)?.digest;
    }
    return origin !== undefined && restored.has(origin) ? origin : undefined;
  }
}

function toReplacement(text: string) {
  const { digest, record } = JSON.parse(text) as Replacement;
  return { digest, record: JSON.parse(toDeclaredJson(keyResource, JSON.stringify(record))) as KeyRecord };
}

/**
 * The values that `limits` narrow; undefined if none. Leaves out a webhook's URL, which isn't a limit, and an operator's sites, which depend on the sites
 * that exist.
 */
export function narrowedValues(resource: Resource, record: object, limits: readonly Decided[]): Values | undefined {
  const narrower: Record<string, string> = {};
  for (const field of Object.keys(limitsIn(resource.name, record))) {
    if (field === "Sites") continue;
    const before = textIn(record, field);
    const value = limits.reduce((left, { [field]: limit = "" }) => narrowed(field, left, limit), before);
    if (value !== before) narrower[field] = value;
  }
  return Object.keys(narrower).length > 0 ? narrower : undefined;
}

/** What's left of a value. If its networks have none in common with the limit's, the limit's are left, because no networks would mean all. */
function narrowed(field: string, value: string, limit: string): string {
  if (!isWider(field, value, limit)) return value;
  if (field === "Scope") return toKeyRights(value).intersect(toKeyRights(limit)).text;
  if (field === "Networks") return intersectNetworks(splitWords(value), splitWords(limit)).join(" ") || limit;
  return limit;
}

/** Of two networks, one contains the other, or they have no address in common. */
function intersectNetworks(some: readonly string[], others: readonly string[]): string[] {
  const inside = (these: readonly string[], those: readonly string[]) => these.filter((one) => isInside(one, those));
  return [...new Set([...inside(some, others), ...inside(others, some)])].slice(0, maxKeyNetworks);
}

function isInside(network: string, networks: readonly string[]): boolean {
  const [first, bits] = toNetwork(network) ?? [];
  const wider = networks.map(toNetwork).filter((one) => one !== undefined && bits !== undefined && one[1] <= bits);
  return first !== undefined && isWithin(first, wider as IpNetwork[]);
}

/** Whether one value of a limit allows something that another doesn't. */
export function isWider(field: string, value: string, than: string): boolean {
  if (field === "URL" || field === replacesField) return false;
  if (field === "Expires") return isLess(Date.parse(than), Date.parse(value));
  if (field === "Rate") return isLess(Number(than || Number.NaN), Number(value || Number.NaN));
  if (field === "Scope") return than !== "" && !toKeyRights(than).includes(toKeyRights(value));
  if (field === "Networks")
    return than !== "" && (value === "" || !splitWords(value).every((one) => isInside(one, splitWords(than))));
  if (field === "Role") return !hasAllOf(rightsOf(toRole(than)), rightsOf(toRole(value)));
  // An empty list means all sites.
  if (field === "Sites") return than !== "" && (value === "" || !hasAllOf(splitWords(than), splitWords(value)));
  return value === "" && than !== "";
}

function hasAllOf<T>(all: readonly T[], some: readonly T[]): boolean {
  return some.every((one) => all.includes(one));
}

/** NaN means unlimited. */
function isLess(limit: number, before: number): boolean {
  return !Number.isNaN(limit) && !(limit >= before);
}
