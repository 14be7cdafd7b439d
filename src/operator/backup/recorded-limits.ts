// Works out how records from a backup or a site file are limited by what was last decided about them (store/database/restrictions.ts).

import type { RecordedRestriction } from "../../model/amend.ts";
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
import { type KeyRecord, splitWords } from "../../system/system-records.ts";

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
  for (const field of Object.keys(limitsIn(resource.name, record)))
    for (const { [field]: limit = "" } of field === "Sites" ? [] : limits)
      if (isWider(field, narrower[field] ?? textIn(record, field), limit)) narrower[field] = limit;
  return Object.keys(narrower).length > 0 ? narrower : undefined;
}

/** Whether one value of a limit allows something that another doesn't. */
export function isWider(field: string, value: string, than: string): boolean {
  if (field === "URL" || field === replacesField) return false;
  if (field === "Expires") return isLess(Date.parse(than), Date.parse(value));
  if (field === "Rate") return isLess(Number(than || Number.NaN), Number(value || Number.NaN));
  if (field === "Scope") return value === "write" && than === "read";
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
