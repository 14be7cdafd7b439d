// How a key of a backup differs from what became of it afterwards.

import type { KeyChange } from "../model/amend.ts";
import type { Intent } from "../model/intent.ts";
import type { Values } from "../model/record.ts";
import { key as keyResource } from "../resources/key.ts";
import type { KeyRecord } from "./keys.ts";
import { toCreate } from "./system.ts";
import type { KnownSystem } from "./system-diff.ts";

type Limits = Pick<KeyRecord, "Revoked" | "Expires" | "Rate" | "Scope">;

/**
 * The values of a key that are narrower in a later state of it: revocation, an earlier end, fewer requests, fewer rights.
 * @param last that state, if it is known
 * @returns undefined if there are none
 */
export function narrowedKey(key: Limits, last: Limits | undefined): Values | undefined {
  if (!last || key.Revoked) return undefined;
  const values = {
    ...(last.Revoked && !key.Revoked ? { Revoked: last.Revoked } : {}),
    ...(isLess(Date.parse(last.Expires), Date.parse(key.Expires)) ? { Expires: last.Expires } : {}),
    ...(isLess(Number(last.Rate || Number.NaN), Number(key.Rate || Number.NaN)) ? { Rate: last.Rate } : {}),
    ...(last.Scope === "read" && key.Scope === "write" ? { Scope: last.Scope } : {}),
  };
  return Object.keys(values).length > 0 ? values : undefined;
}

/** Whether a limit is lower than the one before. Neither may be set (NaN): then it limits nothing. */
function isLess(limit: number, before: number): boolean {
  return !Number.isNaN(limit) && !(limit >= before);
}

/**
 * The keys by which `key rotate` has replaced those of a backup: without them, the clients that have the new key would be locked out. A rotation
 * is an entry of the journal for the new key, and the next one for the end of the old key. If the new key was
 * rotated too, the keys that replaced it are among them.
 * @param known the keys of the database that is replaced
 * @param restored those of the backup
 * @returns the intents to create those that are valid, by the ID of the key in the backup
 */
export function rotatedKeys(
  known: KnownSystem["keys"],
  restored: readonly KeyRecord[],
  changes: readonly KeyChange[],
  now: number,
): ReadonlyMap<number, readonly Intent[]> {
  const records = new Map(known.flatMap(({ record, deleted }) => (deleted ? [] : [[record.ID, record]])));
  const byDigest = new Map(restored.map((record) => [record.Digest, record]));
  /** The key of the backup from which a key came, by its ID. */
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
    const intent = toCreate(keyResource, { ...values, Site: origin.Site }, now);
    found.set(origin.ID, [...(found.get(origin.ID) ?? []), intent]);
  }
  return found;
}

/** The IDs of the keys that were created and ended by each rotation. A restore may have carried over several keys that replaced one. */
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
