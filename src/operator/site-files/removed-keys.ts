// Keys that were deleted with their sites. The journal of the system site contains their last state until it is pruned.

import type { Engine } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { systemSite } from "../../model/system-site.ts";
import { key as keyResource } from "../../resources/key.ts";
import { readAllRows } from "../../store/database/read-all-rows.ts";
import type { KeyRecord } from "../../system/system-records.ts";
import { narrowedKey } from "../backup/key-restrictions.ts";
import type { Restriction } from "../backup/restrictions.ts";
import type { ImportedKey } from "./site-file-settings.ts";

/** Maximum entries per read. */
const pageSize = 1000;

/** A key that was restricted before its site was removed, and is restricted in the same way after the import. */
export type RestrictedKey = Pick<Restriction, "name" | "change">;

/** Restricts the keys of a site file as they were restricted in this database before their site was removed. */
export async function restrictKeys(
  engine: Engine,
  keys: readonly ImportedKey[],
): Promise<{ keys: readonly ImportedKey[]; restricted: readonly RestrictedKey[] }> {
  const removed = await removedKeys(engine, new Set(keys.map(({ values }) => String(values.Digest))));
  const restricted: RestrictedKey[] = [];
  const narrowed = keys.map((key) => {
    const record = key.values as unknown as KeyRecord;
    const values = narrowedKey(record, removed.get(record.Digest));
    if (!values) return key;
    restricted.push({ name: record.Prefix, change: values.Revoked ? "revoked" : "narrowed" });
    return { ...key, values: { ...key.values, ...values } };
  });
  return { keys: narrowed, restricted };
}

/** Reads the keys with these digests that were deleted, in their state before the last deletion. */
async function removedKeys(engine: Engine, digests: ReadonlySet<string>): Promise<ReadonlyMap<string, KeyRecord>> {
  const { rows } = await readAllRows(engine, systemSite);
  const deletions = rows
    .flatMap(({ resource, revision, body }) => (resource === keyResource.name && body === null ? [revision] : []))
    .sort((a, b) => a - b);
  const found = new Map<string, KeyRecord>();
  let read = 0;
  for (const revision of digests.size > 0 ? deletions : []) {
    if (revision <= read) continue;
    const { entries } = await engine.readJournalPage(systemSite, revision - 1, pageSize);
    for (const { resource, operation, body } of entries) {
      if (resource !== keyResource.name || operation !== "delete") continue;
      const record = JSON.parse(toDeclaredJson(keyResource, body)) as KeyRecord;
      if (digests.has(record.Digest)) found.set(record.Digest, record);
    }
    read = entries.at(-1)?.revision ?? revision;
  }
  return found;
}
