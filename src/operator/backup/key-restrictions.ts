// Finds how API keys were restricted since a backup: the rights that a key has lost, and the keys that have replaced it by rotation.

import type { KeyChange } from "../../model/amend.ts";
import type { Intent } from "../../model/change.ts";
import type { Values } from "../../model/record.ts";
import { key as keyResource } from "../../resources/key.ts";
import { toCreateIntent } from "../../system/system-changes.ts";
import type { KeyRecord } from "../../system/system-records.ts";
import type { KnownSystem } from "./known-system.ts";

/** The members of a key that limit what it may do. */
type KeyLimits = Pick<KeyRecord, "Revoked" | "Expires" | "Rate" | "Scope">;

/**
 * Returns the values of a key that are narrower in its later state: revocation, an earlier expiry, a lower rate, a smaller scope.
 * @param later the later state, if it is known
 * @returns undefined if nothing is narrower
 */
export function narrowedKey(key: KeyLimits, later: KeyLimits | undefined): Values | undefined {
  if (!later || key.Revoked) return undefined;
  const values = {
    ...(later.Revoked ? { Revoked: later.Revoked } : {}),
    ...(isLess(Date.parse(later.Expires), Date.parse(key.Expires)) ? { Expires: later.Expires } : {}),
    ...(isLess(Number(later.Rate || Number.NaN), Number(key.Rate || Number.NaN)) ? { Rate: later.Rate } : {}),
    ...(later.Scope === "read" && key.Scope === "write" ? { Scope: later.Scope } : {}),
  };
  return Object.keys(values).length > 0 ? values : undefined;
}

/** Whether a limit is lower than the previous limit. NaN means unlimited. */
function isLess(limit: number, before: number): boolean {
  return !Number.isNaN(limit) && !(limit >= before);
}

/**
 * Finds the keys by which `key rotate` has replaced keys of the backup. Without them, clients that have the new key would be locked out. In the
 * journal, a rotation is an entry for the new key, followed by an entry for the end of the old key. If the new key was rotated too, its replacements
 * are included.
 * @param known the keys of the replaced database
 * @param restored the keys of the backup
 * @returns the intents to create the new keys that are still valid, by the ID of the key in the backup
 */
export function rotatedKeys(
  known: KnownSystem["keys"],
  restored: readonly KeyRecord[],
  changes: readonly KeyChange[],
  now: number,
): ReadonlyMap<number, readonly Intent[]> {
  const records = new Map(known.flatMap(({ record, deleted }) => (deleted ? [] : [[record.ID, record]])));
  const byDigest = new Map(restored.map((record) => [record.Digest, record]));
  /** For each key of the replaced database, by its ID: the key of the backup that it equals, or has replaced directly or through other keys. */
  const origins = new Map<number, KeyRecord>();
  for (const { ID, Digest } of records.values()) {
    const same = byDigest.get(Digest);
    if (same) origins.set(ID, same);
  }
  const found = new Map<number, Intent[]>();
  for (const { created, ended } of rotationsIn(changes)) {
    const [origin, successor] = [origins.get(ended), records.get(created)];
    if (!origin || !successor || byDigest.has(successor.Digest)) continue;
    origins.set(created, origin);
    if (!isValid(successor, now)) continue;
    const { ID: _, ...values } = successor;
    const intent = toCreateIntent(keyResource, { ...values, Site: origin.Site }, now);
    found.set(origin.ID, [...(found.get(origin.ID) ?? []), intent]);
  }
  return found;
}

/**
 * Returns each rotation as the IDs of the key that it created and of the key that it ended. An earlier restore may have created several replacements
 * of one key in one command.
 */
function* rotationsIn(changes: readonly KeyChange[]): Generator<{ created: number; ended: number }> {
  let created: KeyChange[] = [];
  let before: KeyChange | undefined;
  for (const change of changes) {
    const { revision, at, run, operation, id } = change;
    const isSameCommand = before?.revision === revision - 1 && before.at === at && before.run === run;
    if (!isSameCommand) created = [];
    if (operation === "update") for (const one of created) yield { created: one.id, ended: id };
    if (operation === "create") created.push(change);
    else created = [];
    before = change;
  }
}

function isValid({ Expires, Revoked }: KeyRecord, now: number): boolean {
  return Revoked === "" && !(Date.parse(Expires) <= now);
}
