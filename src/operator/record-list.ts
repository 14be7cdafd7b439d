// Lists of records as an operator looks through them.

import { versionOf } from "../model/intent.ts";
import type { StorefrontRecord } from "../model/record.ts";
import type { Leaf, Resource } from "../model/resource.ts";
import { anyField } from "../store/memory/order.ts";
import type { Selections } from "../store/memory/selections.ts";
import { Snapshot } from "../store/memory/snapshot.ts";
import type { Version } from "../store/memory/version.ts";
import type { Snapshots } from "../store/snapshots.ts";

interface RecordQuery {
  /** A text that one of the fields, or the ID, contains, without regard to case. Of several words, each. */
  readonly search: string;
  /** Undefined for the ID. */
  readonly sort: { readonly leaf: Leaf | undefined; readonly descending: boolean };
  readonly limit: number;
  readonly offset: number;
}

/** A record, and the version that identifies this state of it. */
export interface VersionedRecord {
  readonly record: StorefrontRecord;
  readonly version: string;
}

interface RecordPage {
  readonly records: readonly VersionedRecord[];
  /** How many records there are on all pages. */
  readonly total: number;
}

/** Words of a search that count. */
const maxWords = 8;
/** Records of which the first search would take long: 100,000 take 0.4 s, and further searches 0.03 s. */
const longList = 10_000;

/**
 * A page of the records of a site. The site is then in memory.
 * @param isWanted whether the result is still of use; long work stops when it is not
 * @throws Refusal `unavailable`, AbandonedWork
 */
export async function listRecords(
  snapshots: Snapshots,
  site: number,
  resource: Resource,
  { search, sort, limit, offset }: RecordQuery,
  isWanted: () => boolean,
): Promise<RecordPage> {
  const snapshot = await loaded(snapshots, site);
  const collection = snapshot.collection(resource);
  const version = await collection.version();
  const { selections } = collection;
  const words = search.split(/\s+/).filter(Boolean).slice(0, maxWords);
  const filters = words.map((word) => ({ leaf: anyField, operator: "contains", values: formsOf(word) }) as const);
  const ids = await selections.select(version, filters, [sort], isWanted);
  if (words.length === 0 && ids.length >= longList) void prepareSearch(selections, version);
  const records = ids.slice(offset, offset + limit).flatMap((id) => {
    const found = version.get(id);
    return found ? [{ record: JSON.parse(found.json), version: versionOf(snapshot.epoch, found.revision) }] : [];
  });
  return { records, total: ids.length };
}

/** The word as it may be stored: `é` is one character or two, which look the same (Unicode Standard Annex 15). */
function formsOf(word: string): string[] {
  return [...new Set([word, word.normalize("NFC"), word.normalize("NFD")])];
}

/** A long list is often searched next. The first search makes the texts that all searches read, so it is done in advance. */
async function prepareSearch(selections: Selections, version: Version): Promise<void> {
  const nothing = { leaf: anyField, operator: "contains", values: ["\0"] } as const;
  try {
    await selections.select(version, [nothing], [], () => true);
  } catch {
    // The search itself reports the error.
  }
}

/** A record as it is now; undefined when there is none. The site need not be in memory. */
export async function findVersioned(
  snapshots: Snapshots,
  site: number,
  resource: Resource,
  id: number,
): Promise<VersionedRecord | undefined> {
  const fresh = await snapshots.fresh(site);
  const found = fresh instanceof Snapshot ? fresh.collection(resource).get(id) : await fresh.record(resource, id);
  return found && { record: JSON.parse(found.json), version: versionOf(fresh.epoch, found.revision) };
}

async function loaded(snapshots: Snapshots, site: number): Promise<Snapshot> {
  const fresh = await snapshots.fresh(site);
  return fresh instanceof Snapshot ? fresh : await fresh.load();
}
