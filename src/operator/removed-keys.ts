// The keys that were deleted with their sites, as they were then. The journal of the system site has them until it is pruned.

import type { Engine } from "../model/engine.ts";
import { toDeclared } from "../model/record.ts";
import { systemSite } from "../model/system-site.ts";
import { key as keyResource } from "../resources/key.ts";
import { loadSite } from "../store/load-site.ts";
import { narrowedKey } from "./key-restrictions.ts";
import type { KeyRecord } from "./keys.ts";
import type { Restriction } from "./restrictions.ts";
import type { ImportedKey } from "./site-claim.ts";

/** Entries that one read returns at most. */
const pageSize = 1000;

/** A key that had been restricted before its site was removed, and stays so. */
export type RestrictedKey = Pick<Restriction, "name" | "change">;

/** The keys of a file, with what restricted them before their site was removed from this database. */
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

/** The keys with these digests that were deleted, as they were when they were deleted last. */
async function removedKeys(engine: Engine, digests: ReadonlySet<string>): Promise<ReadonlyMap<string, KeyRecord>> {
  const { rows } = await loadSite(engine, systemSite);
  const deletions = rows
    .flatMap(({ resource, revision, body }) => (resource === keyResource.name && body === null ? [revision] : []))
    .sort((a, b) => a - b);
  const found = new Map<string, KeyRecord>();
  let read = 0;
  for (const revision of digests.size > 0 ? deletions : []) {
    if (revision <= read) continue;
    const { entries } = await engine.journal(systemSite, revision - 1, pageSize);
    for (const { resource, operation, body } of entries) {
      if (resource !== keyResource.name || operation !== "delete") continue;
      const record = JSON.parse(toDeclared(keyResource, body)) as KeyRecord;
      if (digests.has(record.Digest)) found.set(record.Digest, record);
    }
    read = entries.at(-1)?.revision ?? revision;
  }
  return found;
}
