// Reads records for an operator: pages with a search and an order, and single records with their versions.

import { yieldBetween } from "../../lib/yielding.ts";
import { versionOf } from "../../model/change.ts";
import { type StorefrontRecord, valueAt } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import type { Collection } from "../../store/memory/collection.ts";
import type { CollectionVersion } from "../../store/memory/collection-version.ts";
import { findNearestNames } from "../../store/memory/nearest-names.ts";
import { anyField } from "../../store/memory/order.ts";
import type { Selections } from "../../store/memory/selections.ts";
import { Snapshot } from "../../store/memory/snapshot.ts";
import type { SiteViews } from "../../store/reads/site-views.ts";

interface RecordQuery {
  /** Text that the ID or one of the fields must contain, ignoring case. With several words, each of them must be contained. */
  readonly search: string;
  /** The order. An undefined field means the ID. */
  readonly sort: { readonly textField: TextFieldPath | undefined; readonly descending: boolean };
  readonly limit: number;
  readonly offset: number;
  /** The version of the list that the operator has, if any. */
  readonly known?: string | null;
}

/** A record, and the version of this state of it. */
export interface VersionedRecord {
  readonly record: StorefrontRecord;
  readonly version: string;
}

interface RecordPage {
  readonly records: readonly VersionedRecord[];
  /** The number of records on all pages. */
  readonly total: number;
  /** The version of the whole list. */
  readonly version: string;
  /** The names that are nearest to the search, if it finds nothing. */
  readonly suggestions?: readonly string[];
  /** Whether the operator has this version already; `records` is then empty. */
  readonly isKnown?: boolean;
}

/** Maximum words of a search. */
const maxWords = 8;
/** Number of records from which the first search is prepared: with 100,000 records, the first search takes 0.4 s, and each further search 5 ms. */
const minPreparedRecords = 10_000;

/**
 * Returns a page of the records of a site. Loads the site into memory if necessary.
 * @param isWanted whether the client still waits for the result; if not, long work stops
 * @throws ProblemError `unavailable`, AbandonedWorkError
 */
export async function readRecordPage(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  { search, sort, limit, offset, known }: RecordQuery,
  isWanted: () => boolean,
): Promise<RecordPage> {
  const { snapshot, collection, version, ids } = await selectRecords(
    siteViews,
    site,
    resource,
    { search, sort },
    isWanted,
  );
  if (search.trim() === "" && ids.length >= minPreparedRecords) void prepareSearch(collection.selections, version);
  const found = { total: ids.length, version: versionOf(snapshot.epoch, version.revision) };
  if (ids.length === 0 && version.size > 0) {
    const suggestions = await suggestNames(collection, version, search, isWanted);
    return { ...found, suggestions, records: [] };
  }
  if (found.version === known) return { ...found, isKnown: true, records: [] };
  const records: VersionedRecord[] = [];
  for await (const id of yieldBetween(ids.slice(offset, offset + limit))) {
    const one = version.find(id);
    if (one) records.push({ record: JSON.parse(one.json), version: versionOf(snapshot.epoch, one.revision) });
  }
  return { ...found, records };
}

/** The records that a search finds, as of one moment. */
interface SelectedRecords {
  readonly snapshot: Snapshot;
  readonly collection: Collection;
  readonly version: CollectionVersion;
  /** In the order of the query. */
  readonly ids: readonly number[];
}

/** Selects the records of a site that a search finds: all of them, whatever their number. @throws as `readRecordPage` */
export async function selectRecords(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  { search, sort }: Pick<RecordQuery, "search" | "sort">,
  isWanted: () => boolean,
): Promise<SelectedRecords> {
  const snapshot = await getSnapshot(siteViews, site);
  const collection = snapshot.collection(resource);
  const version = await collection.version();
  const filters = wordsOf(search).map(
    (word) => ({ textField: anyField, operator: "contains", values: formsOf(word) }) as const,
  );
  return { snapshot, collection, version, ids: await collection.selections.select(version, filters, [sort], isWanted) };
}

/** Returns the words of a search, at most eight. Further words are ignored. */
function wordsOf(search: string): string[] {
  return search.split(/\s+/).filter(Boolean).slice(0, maxWords);
}

/** Returns the forms that a word can have in a record: `é` is one character or two, with the same look (Unicode Standard Annex 15). */
function formsOf(word: string): string[] {
  return [...new Set([word, word.normalize("NFC"), word.normalize("NFD")])];
}

/** Maximum names that are suggested for a search. */
const maxSuggestions = 5;
/** Maximum searches of a version whose suggestions are cached. */
const maxCachedSuggestions = 32;

/** The suggestions for the last searches of each version, by the words of the search. */
const cachedSuggestions = new WeakMap<CollectionVersion, Map<string, readonly string[]>>();

/** Returns the names of the records that are nearest to a search. The same search of the same records is done once. */
async function suggestNames(
  { resource, limiter }: Collection,
  version: CollectionVersion,
  search: string,
  isWanted: () => boolean,
): Promise<readonly string[]> {
  const words = wordsOf(search).join(" ");
  const cached = cachedSuggestions.get(version) ?? new Map<string, readonly string[]>();
  cachedSuggestions.set(version, cached);
  const known = cached.get(words);
  if (known) return known;
  const nameField = nameFieldOf(resource);
  const find = () => findNearestNames(version.blocks, resource.textFields, nameField, words, maxSuggestions);
  const ids = await limiter.run(`names ${version.number} ${words}`, find, isWanted);
  const names = ids.map((id) => valueAt(JSON.parse(version.find(id)?.json ?? "{}"), nameField));
  if (cached.size >= maxCachedSuggestions) cached.clear();
  cached.set(words, names);
  return names;
}

/** Returns the field `Name`, which every resource of a site has. */
export function nameFieldOf(resource: Resource): TextFieldPath {
  return findTextField(resource, "Name") as TextFieldPath;
}

/** Prepares the first search, because a long list is often searched next: the first search creates the texts that all searches read. */
async function prepareSearch(selections: Selections, version: CollectionVersion): Promise<void> {
  const nothing = { textField: anyField, operator: "contains", values: ["\0"] } as const;
  try {
    await selections.select(version, [nothing], [], () => true);
  } catch {
    // The search itself reports the error.
  }
}

/** Reads a record; undefined if it does not exist. The site need not be in memory. */
export async function findVersioned(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  id: number,
): Promise<VersionedRecord | undefined> {
  const siteView = await siteViews.getUpToDate(site);
  const found = await siteView.lookUpRecord(resource, id);
  return found && { record: JSON.parse(found.json), version: versionOf(siteView.epoch, found.revision) };
}

async function getSnapshot(siteViews: SiteViews, site: number): Promise<Snapshot> {
  const siteView = await siteViews.getUpToDate(site);
  return siteView instanceof Snapshot ? siteView : await siteView.loadSnapshot();
}
